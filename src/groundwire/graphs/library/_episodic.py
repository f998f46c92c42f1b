"""episodic: a world to act in goes in, an actor that has won there comes out, or the lessons of why not.

    act ──► world ──won──► end
     ▲        │ running
     ├─advance┘ lost, stuck
     └─ reflect ◄─refine         each new trial begins the world anew, with what memory recalls

Reflexion for environments (arXiv 2303.11366): only the environment's `won` is success, reflections go to memory word
for word, and a trial is told of the last Ω of them. Nothing is reflected on after a win.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from groundwire.core._contexts import Actor, Critic
from groundwire.core._environments import Environment
from groundwire.core._signals import Origin
from groundwire.graphs.build._declarations import Rules
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.tools.environments import EnvironmentTool


class OfTrial(TypedDict):
    """See `episodic`."""

    repeats: int | None
    actions: int | None


@dataclass(frozen=True)
class Heuristics:
    """When a trial, and when a task, is given up, as published.

    `episodic(actor, critic, make, **QUESTIONS.of_trial).compile(rules=QUESTIONS.rules)`

    Args:
        repeats: see `episodic`.
        actions: see `episodic`.
        retries: trials after the first that may fail one after the other; then the task is given up. None: the budget
            decides.
    """

    repeats: int | None = 3
    actions: int | None = 30
    retries: int | None = None

    @property
    def of_trial(self) -> OfTrial:
        """Arguments of `episodic`."""
        return OfTrial(repeats=self.repeats, actions=self.actions)

    @property
    def rules(self) -> Rules:
        """For `compile`."""
        return Rules(refinements={Origin.ENVIRONMENT: self.retries} if self.retries is not None else {})


TEXT_WORLDS = Heuristics()
"""Reflexion in ALFWorld (arXiv 2303.11366): stuck after the same step more than 3 times, or more than 30 actions."""
QUESTIONS = Heuristics(actions=6, retries=3)
"""Reflexion in HotpotQA: at most 6 actions of one trial, and 3 failed retries of one question."""

CARD = GraphCard(
    name="episodic",
    does="a world to act in goes in; it is won, or the lessons of why not are on file",
    sources=("Reflexion (arXiv 2303.11366)", "ReAct (arXiv 2210.03629)"),
    origins=(Origin.ENVIRONMENT,),
    cost="trials × (actions + 1 reflection)",
    use="the same kind of world comes back, and a failure shows what was wrong",
    avoid="winning takes luck or wide exploration: on WebShop four trials brought nothing (Reflexion paper)",
)


def episodic(
    actor: Actor,
    critic: Critic,
    make: Callable[[], Environment],
    *,
    repeats: int | None = 3,
    actions: int | None = 30,
    timeout_s: float = 60.0,
) -> FeedbackGraph:
    """The graph; run it on an `environment_task`.

    Args:
        actor: does one thing a step (`groundwire.agents.worlds.ReActActor`).
        critic: reflects on a trial that was lost or stuck.
        make: makes one world; each trial has one of its own.
        repeats: how often in a row the same action may get the same response; the next time the trial is stuck.
        actions: actions of one trial; with the next one it is inefficient. A compiled graph's `Budget(steps=…)`, 50
            unless told, ends the episode without a verdict on the trial, so keep this below it.
        timeout_s: wall seconds for one action.
    """
    graph = FeedbackGraph(name="episodic")
    graph.add_actor("act", actor)
    graph.add_tool("world", EnvironmentTool(make, repeats=repeats, actions=actions, timeout_s=timeout_s))
    graph.add_critic("reflect", critic)
    graph.add_edge("act", "world")
    graph.advance("world", to="act")
    graph.refine("world", via="reflect", to="act")
    return graph
