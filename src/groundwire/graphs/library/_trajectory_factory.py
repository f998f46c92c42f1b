"""trajectory_factory: tasks go in; roll-outs of one policy come out, labelled by what ran, for `groundwire export`.

    act ──► place ──► judge ──pass──► end         app.abatch(tasks, times=8): eight episodes of each task
     ▲                  │ running                 place: where a roll-out parts from the one before
     ├───────advance────┘ lost, failed
     └─(reflect)◄─refine

Turns (RISE, SCoRe) and trees (AlphaMath, Agent-R) of roll-outs, failed ones kept. Nothing is filtered here: what may be
trained on, and in which form, is for the export to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

from langgraph.runtime import Runtime

from groundwire.agents.worlds._roll_outs import RollOutActor, walks_in
from groundwire.core._contexts import Actor, Critic, Tool
from groundwire.core._environments import START, actions_in
from groundwire.core._signals import Origin
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.run._episode import Episode
from groundwire.graphs.run._state import EpisodeState
from groundwire.tools.environments import EnvironmentTool

CARD = GraphCard(
    name="trajectory_factory",
    does="tasks go in; roll-outs of one policy come out, labelled by what ran, for `groundwire export`",
    sources=(
        "RISE (arXiv 2407.18219)",
        "SCoRe (arXiv 2409.12917)",
        "Agent-R (arXiv 2501.11425)",
        "AlphaMath Almost Zero (arXiv 2405.03553)",
    ),
    origins=(Origin.ENVIRONMENT, Origin.TESTS, Origin.EXECUTION, Origin.VERIFIER),
    cost="tasks × times × trials × (steps + 1 reflection)",
    use="a model is to be trained on its own experience, and something that runs can judge it",
    avoid="only a model can judge: such rows are refused; or what is trained on is what will be evaluated on",
)


class FactoryState(EpisodeState):
    """Where a roll-out stands among those of its episode."""

    lost: int = 0
    """Roll-outs before it."""
    shared: int = 0
    """Actions that it begins with as the one before did. Once it wins, the next one of the other was its first bad
    step."""


def trajectory_factory(actor: Actor, judge: Tool, critic: Critic | None = None, *, ways: int = 1) -> FeedbackGraph:
    """The graph; `compile` it with a ledger and run `abatch(tasks, times=…)`. A trial is a roll-out, or a turn, and an
    episode has as many as `Budget(trials=…)` says.

    Args:
        actor: the policy that is to be trained, at the temperature that it is sampled at. It is told of no other
            episode, so that all of a task answer the same prompt.
        judge: an `EnvironmentTool`, in which each step is judged, or tests, a command or a check of yours.
        critic: reflects between two turns; default: the next turn is told what was observed, and no more.
        ways: in a world, how often the policy is asked at each place. Above 1 the roll-outs of an episode are a tree: a
            new one branches off where the one that failed can still go another way. 1: each begins anew.
    """
    graph = FeedbackGraph(FactoryState, name="trajectory_factory")
    graph.add_actor("act", RollOutActor(actor, ways=ways))
    graph.add_node("place", placed, role="pure")
    graph.add_tool("judge", judge)
    graph.add_edge("act", "place")
    graph.add_edge("place", "judge")
    if isinstance(judge, EnvironmentTool):
        graph.advance("judge", to="act")
    if critic is not None:
        graph.add_critic("reflect", critic)
    return graph.refine("judge", via=None if critic is None else "reflect", to="act")


def placed(state: FactoryState, runtime: Runtime[Episode]) -> Mapping[str, object]:
    """Says where a roll-out stands; a plain node."""
    history, task = runtime.context.history, runtime.context.task
    if START not in task.tree.files:
        return {"lost": state.trial - 1}
    walks = walks_in(history.judged_until(state.trial), before=state.trial)
    mine = actions_in(history.candidates[state.candidate])
    same = takewhile(lambda pair: pair[0] == pair[1], zip(mine, walks[-1] if walks else (), strict=False))
    return {"lost": len(walks), "shared": len(list(same))}
