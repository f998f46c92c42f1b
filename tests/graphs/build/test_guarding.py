"""A plain LangGraph graph as a node is held to what the proof was told of it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START
from langgraph.types import Command, Send
from plain_nodes import graph_with, team, undeclared, visit, visited

from groundwire import FeedbackGraph, Task
from groundwire.core._errors import GroundingError


@pytest.mark.parametrize("compiled", [False, True])
def test_a_langgraph_graph_runs_as_a_node(task: Task, compiled: bool) -> None:
    inner = team((START, "plan"), ("plan", "check"), plan=visit("plan"), check=visit("check"))
    graph = graph_with("team", inner.compile() if compiled else inner).add_edge("team", "write")
    assert visited(graph, task) == ["plan", "check"]


def test_the_graph_that_was_given_stays_as_it_is(task: Task) -> None:
    inner = team((START, "plan"), plan=lambda state: undeclared(END))
    before = dict(inner.nodes)
    graph_with("team", inner.compile(), roles={"plan": "pure"}).add_edge("team", "write").compile().run(task)
    assert inner.nodes == before


def test_an_undeclared_jump_inside_a_graph_is_refused(task: Task) -> None:
    inner = team((START, "plan"), ("plan", "check"), plan=lambda state: undeclared("plan"), check=visit("check"))
    graph = graph_with("team", inner).add_edge("team", "write")
    with pytest.raises(GroundingError, match="team/plan jumped to plan, which it had not declared"):
        graph.compile().run(task)


def test_an_undeclared_jump_two_graphs_down_is_refused(task: Task) -> None:
    deep = team((START, "plan"), plan=lambda state: undeclared("plan"))
    inner = team((START, "deep"), deep=deep.compile())
    with pytest.raises(GroundingError, match="team/deep/plan jumped to plan"):
        graph_with("team", inner).add_edge("team", "write").compile().run(task)


@pytest.mark.parametrize("chosen", [Send("plan", {}), [Send("plan", {})]])
def test_an_undeclared_packet_of_a_router_inside_a_graph_is_refused(task: Task, chosen: Any) -> None:
    def choose(state: Any) -> Any:
        return chosen

    inner = team((START, "plan"), plan=visit("plan"), check=visit("check"))
    inner.add_edge("plan", "check").add_conditional_edges("plan", choose, ["check"])
    with pytest.raises(GroundingError, match="of team/plan sent to plan, which it had not declared"):
        graph_with("team", inner).add_edge("team", "write").compile().run(task)


def test_a_router_inside_a_graph_is_held_to_its_annotation(task: Task) -> None:
    def one(state: Any) -> str:
        return ["check", "plan"]  # pyright: ignore[reportReturnType]  the annotation is what is not kept

    inner = team((START, "begin"), begin=visit("b"), plan=visit("plan"), check=visit("check"))
    inner.add_conditional_edges("begin", one, ["check", "plan"])
    with pytest.raises(GroundingError, match="The router one of team/begin chose 2 ways at once"):
        graph_with("team", inner).add_edge("team", "write").compile().run(task)


def test_a_router_inside_a_graph_may_do_all_that_it_declares(task: Task) -> None:
    def some(state: Any) -> list[Send]:
        return [Send("check", {"seen": []}), Send("check", {"seen": []})]

    inner = team((START, "begin"), begin=visit("b"), check=visit("check"))
    inner.add_conditional_edges("begin", some, ["check"])
    assert visited(graph_with("team", inner).add_edge("team", "write"), task) == ["b", "check", "check"]


def test_a_jump_to_the_graph_around_is_taken_where_it_was_declared(task: Task) -> None:
    def leaves(state: Any) -> Any:
        return Command(goto="write", graph=Command.PARENT, update={"seen": ["left"]})

    inner = team((START, "plan"), plan=leaves).compile()
    assert visited(graph_with("team", inner, destinations=["write"]), task) == ["left"]


@pytest.mark.parametrize("target", ["write", Send("write", {})])
def test_a_jump_to_the_graph_around_that_was_not_declared_is_refused(task: Task, target: Any) -> None:
    inner = team((START, "plan"), plan=lambda state: undeclared(target, "__parent__")).compile()
    graph = graph_with("team", inner).add_node("log", visit("log")).add_edge("team", "log").add_edge("log", "write")
    with pytest.raises(GroundingError, match="jumped to write, which it had not declared"):
        graph.compile().run(task)


def test_a_jump_from_two_graphs_down_is_held_to_what_the_middle_declares(task: Task) -> None:
    deep = team((START, "out"), out=lambda state: undeclared("last", "__parent__")).compile()

    def build(**options: Any) -> FeedbackGraph:
        middle = team(
            (START, "begin"), ("begin", "check"), begin=visit("begin"), check=visit("check"), last=visit("last")
        )
        middle.add_edge("begin", "last")
        middle.add_node("deep", deep, **options).add_edge("check", "deep")
        return graph_with("team", middle).add_edge("team", "write")

    with pytest.raises(GroundingError, match="jumped to last, which it had not declared"):
        build().compile().run(task)
    assert visited(build(destinations=("last",)), task) == ["begin", "check", "last", "last"]


def test_a_graph_may_not_write_what_is_not_its_own(task: Task) -> None:
    inner = team((START, "plan"), plan=lambda state: {"trial": 5})
    with pytest.raises(GroundingError, match="team wrote trial, which only actors, critics and tools may"):
        graph_with("team", inner).add_edge("team", "write").compile().run(task)


def test_what_a_compiled_graph_was_given_is_kept(task: Task) -> None:
    tags: list[Any] = []

    def plan(state: Any, config: RunnableConfig) -> dict[str, Any]:
        tags.append(config.get("tags"))
        return {}

    inner = team((START, "plan"), plan=plan).compile(name="inner").with_config(tags=["kept"])
    graph_with("team", inner).add_edge("team", "write").compile().run(task)
    assert tags == [["kept"]]


def test_defaults_that_langgraph_gave_the_nodes_stay(task: Task) -> None:
    def breaks(state: Any) -> dict[str, Any]:
        raise ConnectionError

    def mends(state: Any) -> dict[str, Any]:
        return {"seen": ["mended"]}

    inner = team((START, "plan"), plan=breaks).set_node_defaults(error_handler=mends).compile()
    assert visited(graph_with("team", inner).add_edge("team", "write"), task) == ["mended"]
