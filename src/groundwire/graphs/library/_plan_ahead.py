"""plan_ahead: a world to act in goes in; each action is the first of the best way that a look ahead has found.

    act ──► world ──won──► end         act: propose → imagine 3 steps, 16 times → back up → one action
     ▲        │ running
     ├─advance┘ lost, stuck
     └─ reflect ◄─refine

The nodes are those of `episodic`; what differs is the actor. It plans anew after every action, from what has really
happened (FLARE, arXiv 2601.22311; RAFA, arXiv 2309.17382).
"""

from __future__ import annotations

from collections.abc import Callable

from groundwire.agents.worlds import LookaheadActor, StepsCritic
from groundwire.core._contexts import Critic
from groundwire.core._environments import Environment
from groundwire.core._signals import Origin
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.library._episodic import episodic

CARD = GraphCard(
    name="plan_ahead",
    does="a world to act in goes in; every action is looked ahead for, and the plan is made anew after it",
    sources=("FLARE (arXiv 2601.22311)", "RAFA (arXiv 2309.17382)", "ProAct's MC-Critic (arXiv 2602.05327)"),
    origins=(Origin.ENVIRONMENT,),
    cost="trials × actions × (up to 16 × 3 imagined steps), and 1 reflection a trial",
    use="a step that looks good now can be a dead end later, and there is a simulator or a fair guess of the world",
    avoid="the world can't be foreseen, or one action is as good as the next; beam search on local scores is no cure",
)


def plan_ahead(
    actor: LookaheadActor,
    make: Callable[[], Environment],
    critic: Critic | None = None,
    *,
    repeats: int | None = 3,
    actions: int | None = 30,
    timeout_s: float = 60.0,
) -> FeedbackGraph:
    """The graph; run it on an `environment_task`. The other arguments are those of `episodic`.

    Args:
        actor: plans, with a model of the world: `Simulator(Copy)`, `LLMForesight("openai/…")`, or one of your own.
        make: makes the world that judges; the model of it never touches that one.
        critic: reflects on a trial that was lost or stuck; default: by rule.
    """
    graph = episodic(actor, critic or StepsCritic(), make, repeats=repeats, actions=actions, timeout_s=timeout_s)
    graph.name = "plan_ahead"
    return graph
