"""The builder: what it refuses, and the fields that a state class adds."""

from __future__ import annotations

from typing import Any

import pytest
from guessing import Check, Guesser, Noter, loop
from langgraph.types import Command

from groundwire import (
    EpisodeState,
    FeedbackGraph,
    StopReason,
    Task,
    UngroundedLoopError,
)
from groundwire.core._errors import GraphError


def test_an_ungrounded_loop_does_not_compile(task: Task) -> None:
    graph = FeedbackGraph().add_actor("write", Guesser([])).add_critic("reflect", Noter()).add_tool("test", Check())
    graph.add_edge("write", "reflect").add_edge("reflect", "write").add_edge("write", "test")
    with pytest.raises(UngroundedLoopError, match=r'graph\.refine\("test", via="reflect", to="write"\)'):
        graph.compile()


def test_a_jump_must_be_declared_and_then_counts_in_the_proof() -> None:
    def sneak(state: EpisodeState) -> Command[Any]:
        return Command(goto="write")

    with pytest.raises(GraphError, match="undeclared nodes"):
        FeedbackGraph().add_node("sneak", sneak)
    graph = FeedbackGraph().add_actor("write", Guesser([])).add_tool("test", Check())
    graph.add_node("sneak", sneak, destinations=["write"]).add_edge("write", "sneak").add_edge("sneak", "test")
    graph.refine("test", to="write")
    with pytest.raises(UngroundedLoopError, match="write → sneak → write"):
        graph.compile()


def test_wrong_wiring_is_named(task: Task) -> None:
    graph = FeedbackGraph().add_actor("write", Guesser([])).add_tool("test", Check())
    for build, message in [
        (lambda: FeedbackGraph().compile(), "has no actor"),
        (lambda: graph.add_tool("write", Check()), "a node 'write' already"),
        (lambda: graph.add_actor("__end__", Guesser([])), "can't be a node's name"),
        (lambda: graph.add_actor("w", Guesser([]), width=0), "width of w is 0"),
        (lambda: graph.add_conditional_edges("write", lambda s: "x", []), "declares no targets"),
        (lambda: FeedbackGraph().add_actor("a", Guesser([])).refine("a", to="a").compile(), "is not a tool"),
        (lambda: loop(Guesser([]), Check()).add_edge("test", "write").compile(), "both gated and plain edges"),
        (lambda: loop(Guesser([]), Check()).refine("test", to="write"), "has a refine edge already"),
    ]:
        with pytest.raises(GraphError, match=message):
            build()


def test_own_typed_fields_travel_with_the_state(task: Task) -> None:
    class Counting(EpisodeState):
        visits: int = 0

    seen: list[int] = []

    def count(state: Counting) -> dict[str, int]:
        seen.append(state.visits)
        return {"visits": state.visits + 1}

    graph = FeedbackGraph(Counting)
    graph.add_actor("write", Guesser([["a"], ["right"]])).add_tool("test", Check())
    graph.add_node("count", count, role="pure")
    graph.add_edge("write", "count").add_edge("count", "test").refine("test", to="write")
    assert graph.compile().run(task, visits=5).stop_reason is StopReason.VERIFIED
    assert seen == [5, 6]
