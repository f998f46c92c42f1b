"""`--trace`: a real run's steps beside what was declared."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypedDict

import pytest
from langgraph.graph import END, START
from langgraph.graph import StateGraph as TypedStateGraph
from langgraph.types import Command, Send

from groundwire_audit import ImportFailed, audit
from groundwire_audit.live._importing import ImportJob, trace_imported
from groundwire_audit.live._tracing import TraceReport, follow_events

StateGraph: Any = TypedStateGraph  # its methods are only partly typed


class State(TypedDict, total=False):
    rounds: int
    jump: str


def count(state: State) -> State:
    return {"rounds": state.get("rounds", 0) + 1}


def annotated(state: State) -> Command[Literal["again", "__end__"]]:
    return Command(goto=state.get("jump", END))  # pyright: ignore[reportReturnType] # what the annotation forbids


def nothing(state: State) -> State:
    return {}


def built(jumper: Any, *, again: bool = False) -> Any:
    graph = StateGraph(State)
    graph.add_node("count", count)
    graph.add_node("decide", jumper)
    graph.add_node("again", count)
    graph.add_node("secret", count)
    graph.add_edge(START, "count")
    graph.add_edge("count", "decide")
    if again:
        graph.add_edge("again", "decide")
    return graph


def test_a_jump_that_nobody_declared_is_reported() -> None:
    traced = audit.trace(built(annotated).compile(), {"jump": "secret"})
    assert traced.undeclared == (("decide", "secret"),)
    assert traced.foreseen == ()
    assert ("decide", "again") in traced.never_taken
    assert {("__start__", "count"), ("count", "decide")} <= set(traced.taken)
    assert (traced.runs, traced.error) == (1, "")


def test_a_run_that_keeps_to_the_declaration_shows_nothing() -> None:
    traced = audit.trace(built(annotated).compile(), [{"jump": "again"}, {"jump": "__end__"}])
    assert (traced.undeclared, traced.runs) == ((), 2)
    assert ("decide", "again") in traced.taken


def test_a_run_that_raises_is_followed_until_then() -> None:
    def fail(state: State) -> State:
        raise ValueError("out of paper")

    traced = audit.trace(built(fail).compile(), {})
    assert traced.error == "ValueError: out of paper"
    assert ("count", "decide") in traced.taken


def test_a_run_without_end_is_left() -> None:
    graph = StateGraph(State)
    graph.add_node("count", count)
    graph.add_edge(START, "count")
    graph.add_edge("count", "count")
    traced = audit.trace(graph.compile(), {})
    assert "GraphRecursionError" in traced.error
    assert ("count", "count") in traced.taken


def test_nodes_that_are_only_async_are_run_too() -> None:
    async def later(state: State) -> Command[Literal["again"]]:
        return Command(goto="secret")  # pyright: ignore[reportReturnType] # what the annotation forbids

    assert audit.trace(built(later).compile(), {}).undeclared == (("decide", "secret"),)


def test_a_fan_out_is_put_down_to_the_node_it_came_from() -> None:
    def fan_out(state: State) -> list[Send]:
        return [Send("again", {}), Send("again", {})]

    graph = StateGraph(State)
    graph.add_node("count", nothing)
    graph.add_node("again", nothing)
    graph.add_edge(START, "count")
    graph.add_conditional_edges("count", fan_out, ["again"])
    graph.add_edge("again", END)
    traced = audit.trace(graph.compile(), {})
    assert (traced.undeclared, traced.never_taken) == ((), ())


def test_of_several_that_may_have_led_there_each_is_named() -> None:
    events = [
        {"type": "task", "step": step, "payload": {"name": name}}
        for step, name in ((1, "a"), (2, "b"), (2, "c"), (3, "d"))
    ]
    declared = {("__start__", "a"), ("a", "b"), ("a", "c")}
    assert follow_events(events, declared)[-1] == ("b|c", "d")


@pytest.mark.parametrize("thing", [3, built(annotated)])
def test_only_a_compiled_graph_can_be_followed(thing: object) -> None:
    with pytest.raises(TypeError, match="no compiled graph"):
        audit.trace(thing, {})


def test_a_report_has_a_json_form() -> None:
    assert TraceReport(runs=1).as_data()["runs"] == 1


def test_a_trace_by_name_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text(
        "from langgraph.graph import START, StateGraph\n"
        "from langgraph.types import Command\n"
        "def a(state):\n    return Command(goto='b')\n"
        "def b(state):\n    return {}\n"
        "g = StateGraph(dict)\ng.add_node('a', a)\ng.add_node('b', b)\ng.add_edge(START, 'a')\n"
        "graph = g.compile()\n"
        "def inputs():\n    yield {}\n    yield {}\n"
    )
    job = ImportJob(module="flow", name="graph", root=tmp_path)
    traced = trace_imported(job, "flow:inputs")
    assert (traced["undeclared"], traced["foreseen"], traced["runs"]) == ([["a", "b"]], [["a", "b"]], 2)
    for inputs, said in (("flow", "names no function"), ("flow:nowhere", "has no function 'nowhere'")):
        with pytest.raises(ImportFailed, match=said):
            trace_imported(job, inputs)
