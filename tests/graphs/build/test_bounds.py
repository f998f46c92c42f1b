"""What was not declared is refused when it happens: jumps, routers, fields of the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
from guessing import Check, Guesser
from langgraph.graph import END
from langgraph.types import Command, Send
from plain_nodes import Visited, graph_with, undeclared, visit, visited

from groundwire import FeedbackGraph, StopReason, Task, UngroundedLoopError
from groundwire.core._errors import GroundingError


@pytest.mark.parametrize("target", ["write", ["write"], Send("write", {}), [Send("write", {})], ("write",)])
def test_an_undeclared_jump_is_refused(task: Task, target: Any) -> None:
    graph = graph_with("sneak", lambda state: undeclared(target), role="pure", destinations=[])
    with pytest.raises(GroundingError, match="sneak jumped to write, which it had not declared"):
        graph.add_edge("sneak", "write").compile().run(task)


@pytest.mark.parametrize("result", [Send("write", {}), [Send("write", {})], [undeclared("write")]])
def test_an_undeclared_packet_is_refused_however_it_is_wrapped(task: Task, result: Any) -> None:
    graph = graph_with("sneak", lambda state: result, destinations=[])
    with pytest.raises(GroundingError, match="sneak jumped to write"):
        graph.add_edge("sneak", "write").compile().run(task)


@pytest.mark.parametrize("outside", ["__parent__", "another"])
def test_a_jump_out_of_the_graph_is_refused(task: Task, outside: str) -> None:
    graph = graph_with("sneak", lambda state: undeclared("write", outside), destinations=["write"])
    with pytest.raises(GroundingError, match="sneak jumped to write"):
        graph.compile().run(task)


def test_a_declared_jump_is_taken_and_ending_needs_no_declaration(task: Task) -> None:
    graph = graph_with("hop", lambda state: Command(goto="write", update={"seen": ["hop"]}), destinations=["write"])
    assert visited(graph, task) == ["hop"]
    graph = graph_with("hop", lambda state: Command(goto=END), destinations=["write"])
    result = graph.compile().run(task)
    assert (result.stop_reason, result.detail) == (
        StopReason.NO_VERDICT, "A plain node led to the end; no tool had stopped the episode.",
    )  # fmt: skip


def test_an_annotation_declares_as_it_does_for_langgraph(task: Task) -> None:
    def hop(state: Visited) -> Command[Literal["write"]]:
        return Command(goto=("write"), update={"seen": ["hop"]})

    assert visited(graph_with("hop", hop), task) == ["hop"]


def test_several_jumps_at_once_must_be_declared(task: Task) -> None:
    def scatter(state: Any) -> Command[Any]:
        return Command(goto=[Send("note", {"n": 1}), Send("note", {"n": 2})])

    def build(*, many: bool) -> FeedbackGraph:
        graph = graph_with("scatter", scatter, destinations=["note"], many=many)
        graph.add_node("note", lambda packet: {"seen": [str(packet["n"])]}, role="pure")
        graph.add_node("gather", visit("gather"), defer=True)
        return graph.add_edge("note", "gather").add_edge("gather", "write")

    with pytest.raises(GroundingError, match="scatter jumped to note, note at once, and had not declared that"):
        build(many=False).compile().run(task)
    assert sorted(visited(build(many=True), task)) == ["1", "2", "gather"]


def routed(router: Callable[[Any], Any], targets: Any, **options: Any) -> FeedbackGraph:
    graph = graph_with("begin", visit("begin"))
    graph.add_node("left", visit("left")).add_node("right", visit("right"))
    graph.add_edge("left", "write").add_edge("right", "write")
    return graph.add_conditional_edges("begin", router, targets, **options)


async def choose_right(state: Any) -> str:
    return "r"


RIGHT: list[Callable[[Any], Any]] = [lambda state: "r", choose_right, lambda state: ["r"]]


@pytest.mark.parametrize("router", RIGHT)
@pytest.mark.parametrize("role", ["pure", "unknown"])
def test_a_router_leads_by_its_labels(task: Task, router: Any, role: Any) -> None:
    assert visited(routed(router, {"l": "left", "r": "right"}, role=role), task) == ["begin", "right"]


def test_a_router_may_send_and_may_end(task: Task) -> None:
    graph = routed(lambda state: Send("left", state), ["left", "right"])
    assert visited(graph, task) == ["begin", "left"]
    graph = routed(lambda state: END, ["left", "right"])
    assert graph.compile().run(task).stop_reason is StopReason.NO_VERDICT


@pytest.mark.parametrize("chosen", ["nowhere", "write", Send("write", {}), ["nowhere"]])
def test_a_router_that_leads_elsewhere_is_refused(task: Task, chosen: Any) -> None:
    with pytest.raises(GroundingError, match=r"The router of begin chose '(nowhere|write)', which it had not declared"):
        routed(lambda state: chosen, ["left", "right"]).compile().run(task)


def test_a_router_that_chooses_several_must_say_so(task: Task) -> None:
    with pytest.raises(GroundingError, match="The router of begin chose 2 ways at once"):
        routed(lambda state: ["left", "right"], ["left", "right"]).compile().run(task)
    both = graph_with("begin", visit("begin")).add_node("left", visit("left")).add_node("right", visit("right"))
    both.add_node("merge", visit("merge")).add_edge(["left", "right"], "merge").add_edge("merge", "write")
    both.add_conditional_edges("begin", lambda state: ["left", "right"], ["left", "right"], many=True)
    assert visited(both, task) == ["begin", "left", "right", "merge"]


def test_an_actors_router_is_followed_until_it_stops(task: Task) -> None:
    graph = FeedbackGraph().add_actor("write", Guesser([["a"], ["right"]])).add_tool("test", Check())
    graph.add_conditional_edges("write", lambda state: "go", {"go": "test"}).refine("test", to="write")
    assert graph.compile().run(task).stop_reason is StopReason.VERIFIED
    empty = FeedbackGraph().add_actor("write", Guesser([])).add_tool("test", Check())
    empty.add_conditional_edges("write", lambda state: 1 / 0, {"go": "test"}).refine("test", to="write")
    assert empty.compile().run(task).stop_reason is StopReason.EXHAUSTED


def test_a_router_that_may_hold_a_model_is_on_the_loop_it_decides() -> None:
    def build(role: Any) -> FeedbackGraph:
        graph = FeedbackGraph().add_tool("poll", Check()).set_entry("poll").add_node("wait", visit("w"), role="pure")
        graph.add_edge("poll", "wait")
        return graph.add_conditional_edges("wait", lambda state: END, ["poll", END], role=role)

    build("pure").compile()
    with pytest.raises(UngroundedLoopError, match=r'add_conditional_edges\("wait", …, role="pure"\)'):
        build("unknown").compile()


FORGERIES: list[Callable[[Any], Any]] = [
    lambda state: {"trial": 3},
    lambda state: {"admission": "forged", "seen": ["x"]},
    lambda state: state.model_copy(update={"candidate": "forged"}),
    lambda state: Visited(episode_id=state.episode_id, signal="forged"),
    lambda state: [Command(update={"reflection": "forged"})],
    lambda state: Command(update={"route": "stop"}),
    lambda state: Command(update=[("stop_reason", "verified")]),
]
OWN_UPDATES: list[Callable[[Any], Any]] = [
    lambda state: {"seen": ["x"], "trial": state.trial},
    lambda state: Visited(episode_id=state.episode_id, seen=["x"]),
    lambda state: Command(update={"seen": ["x"], "route": state.route}),
    lambda state: Command(update=[("seen", ["x"])]),
    lambda state: [Command(update={"seen": ["x"]})],
]


@pytest.mark.parametrize("forge", FORGERIES)
def test_a_plain_node_may_not_write_what_actors_critics_and_tools_write(task: Task, forge: Any) -> None:
    graph = graph_with("forge", forge, destinations=[]).add_edge("forge", "write")
    with pytest.raises(
        GroundingError, match=r"forge wrote (trial|admission|candidate|signal|reflection|route|stop_reason)"
    ):
        graph.compile().run(task)


@pytest.mark.parametrize("write", OWN_UPDATES)
def test_fields_of_ones_own_can_be_written_in_every_way(task: Task, write: Any) -> None:
    graph = graph_with("write_own", write, destinations=[]).add_edge("write_own", "write")
    assert visited(graph, task) == ["x"]


def test_nothing_at_all_is_an_update_too(task: Task) -> None:
    assert visited(graph_with("idle", lambda state: None).add_edge("idle", "write"), task) == []
