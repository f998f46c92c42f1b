"""What a tool that gives no PASS can lead to: another tool, another tool's word, or the end after so many FAILs."""

from __future__ import annotations

import pytest
from guessing import Check, Guesser, loop, no_verdict
from trails import trail

from groundwire import Budget, FeedbackGraph, NoVerdict, Origin, StopReason, Task, Verdict
from groundwire.core._errors import GraphError
from groundwire.core._records import Record


async def test_a_go_on_is_handed_on_and_is_no_pass(task: Task) -> None:
    approve = Check(override=lambda _: no_verdict(NoVerdict.GO_ON))
    graph = FeedbackGraph().add_actor("write", Guesser([["right"]])).add_tool("approve", approve)
    graph.add_tool("test", Check(["never"])).add_edge("write", "approve").confirm("approve", by="test")
    records: list[Record] = []
    result = await graph.compile().arun(task, observers=[records.append])
    assert trail(records) == ["write", "approve go_on", "test fail"]
    assert (result.verdict, result.stop_reason) == (Verdict.FAIL, StopReason.EXHAUSTED)


async def test_who_is_undecided_refers_to_another(task: Task) -> None:
    unsure = Check(override=lambda _: no_verdict(NoVerdict.UNDECIDED))
    graph = FeedbackGraph().add_actor("write", Guesser([["right"]])).add_tool("guess", unsure)
    graph.add_tool("test", Check()).add_edge("write", "guess").refer("guess", to="test")
    records: list[Record] = []
    result = await graph.compile().arun(task, observers=[records.append])
    assert trail(records) == ["write", "guess undecided", "test pass"]
    assert result.stop_reason is StopReason.VERIFIED
    alone = (
        FeedbackGraph().add_actor("write", Guesser([["right"]])).add_tool("guess", unsure).add_edge("write", "guess")
    )
    assert (await alone.compile().arun(task)).stop_reason is StopReason.NO_VERDICT


async def test_a_tool_may_fail_so_often_since_it_last_said_go_on(task: Task) -> None:
    guesser = Guesser([[text] for text in "abcdef"])
    graph = FeedbackGraph().add_actor("write", guesser).add_tool("test", Check()).add_edge("write", "test")
    graph.refine("test", to="write", failures=2, stop=StopReason.TOOL_EXHAUSTED)
    result = await graph.compile().arun(task)
    assert (result.stop_reason, result.trials) == (StopReason.TOOL_EXHAUSTED, 2)


async def test_a_strong_fail_is_not_taken_back_by_what_passed_before_it(task: Task) -> None:
    """A budget that is used up on the last judge's FAIL is no success, though an earlier judge had passed it."""
    graph = FeedbackGraph().add_actor("write", Guesser([["right"], ["right too"]])).add_edge("write", "first")
    graph.add_tool("first", Check()).add_tool("last", Check(["more"], origin=Origin.TESTS))
    graph.confirm("first", by="last").refine("last", to="write")
    result = await graph.compile(budget=Budget(trials=1)).arun(task)
    assert (result.verdict, result.stop_reason) == (Verdict.FAIL, StopReason.BUDGET_TRIALS)


def test_wrong_wiring_is_named() -> None:
    with pytest.raises(GraphError, match="may fail 0 times"):
        FeedbackGraph().add_tool("test", Check()).refine("test", to="write", failures=0)
    with pytest.raises(GraphError, match="refer leads to 'write', which is not a tool"):
        loop(Guesser([]), Check()).refer("test", to="write").compile()
    with pytest.raises(GraphError, match="both gated and plain edges"):
        graph = FeedbackGraph().add_actor("write", Guesser([])).add_tool("a", Check()).add_tool("b", Check())
        graph.add_edge("write", "a").add_edge("a", "write").refer("a", to="b").compile()


def test_tools_that_hand_on_to_each_other_are_refused() -> None:
    graph = FeedbackGraph().add_actor("write", Guesser([["right"]])).add_edge("write", "a")
    graph.add_tool("a", Check()).add_tool("b", Check()).add_tool("c", Check())
    graph.confirm("a", by="b").refer("b", to="c").confirm("c", by="b")
    with pytest.raises(GraphError, match="b hands on to c, and from there it comes back"):
        graph.compile()
