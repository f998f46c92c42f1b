"""step_beam: a task goes in, a candidate that was built step by step comes out; the best beginnings are kept.

    write ──► test ──pass──► end          write: the best B1 beginnings, B2 next steps for each
      ▲         │
      └─ refine ┘                         one trial is one step

Step-level beam search (AlphaMath, arXiv 2405.03553) with the share of executed tests in the place of a value head.
"""

from __future__ import annotations

from groundwire.agents.steps._step_beam import StepBeamActor
from groundwire.core._contexts import Tool
from groundwire.core._signals import Origin
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.library._card import GraphCard
from groundwire.graphs.run._budget import Budget

CARD = GraphCard(
    name="step_beam",
    does="a task goes in, a candidate built step by step comes out; tests say which beginnings are kept",
    sources=("AlphaMath Almost Zero (arXiv 2405.03553)",),
    origins=(Origin.TESTS, Origin.EXECUTION, Origin.VERIFIER),
    cost="depth × beams × samples candidates; 1 call for each kept beginning and step",
    use="a half-finished answer can be judged: functions one by one, equations, moves",
    avoid="only the end can be judged, or the score is short-sighted: traps caught 71.9 % of beams (FLARE paper)",
)


def step_beam(actor: StepBeamActor, judge: Tool, *, depth: int = 10) -> FeedbackGraph:
    """The graph.

    Args:
        actor: extends the best beginnings, for example `StepBeamActor(NextStep("openai/…", "answer.py"))`.
        judge: gives a FAIL to what is not finished, with a case for each thing that holds already.
        depth: steps at most.
    """
    graph = FeedbackGraph(name="step_beam", budget=Budget(trials=depth))
    graph.add_actor("write", actor, width=actor.beams * actor.samples)
    graph.add_tool("test", judge)
    graph.add_edge("write", "test")
    graph.refine("test", to="write")
    return graph
