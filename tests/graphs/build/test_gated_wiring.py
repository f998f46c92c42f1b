"""A FeedbackGraph tells the audit its gates, which it does enforce."""

from __future__ import annotations

from groundwire import FeedbackGraph, audit
from groundwire.agents import RuleCritic, SearchActor
from groundwire.tools import Pytest
from groundwire_audit import GatedGraph, Grounding


def test_a_feedback_graph_is_told_from_its_gates() -> None:
    graph = FeedbackGraph()
    graph.add_actor("write", SearchActor())
    graph.add_tool("test", Pytest())
    graph.add_critic("reflect", RuleCritic())
    graph.add_edge("write", "test")
    graph.refine("test", via="reflect", to="write")
    things: tuple[GatedGraph, ...] = (graph, graph.compile())
    for thing in things:
        (loop,) = audit(thing).loops
        assert (loop.verdict, loop.kind) == (Grounding.GROUNDED, "gate refine")


def test_a_feedback_graph_without_its_gate_is_ungrounded() -> None:
    graph = FeedbackGraph()
    graph.add_actor("write", SearchActor())
    graph.add_critic("reflect", RuleCritic())
    graph.add_edge("write", "reflect")
    graph.add_edge("reflect", "write")
    report = audit(graph)
    assert (report.loops[0].verdict, report.exit_code()) == (Grounding.UNGROUNDED, 1)
