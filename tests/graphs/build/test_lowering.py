"""What was declared runs as LangGraph runs it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import pytest
from guessing import Check, Guesser, Noter, loop
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.func import entrypoint
from langgraph.graph import END
from langgraph.runtime import Runtime
from langgraph.types import RetryPolicy, StreamWriter
from plain_nodes import Visited, graph_with, undeclared, visit, visited

from groundwire import EpisodeState, FeedbackGraph, StopReason, Task, UngroundedLoopError
from groundwire.core._errors import GraphError, GroundingError
from groundwire.graphs import Episode


def test_parallel_branches_run_in_one_superstep_and_a_join_waits_for_all(task: Task) -> None:
    graph = graph_with("begin", visit("begin"))
    for name in ("left", "right", "slow"):
        graph.add_node(name, visit(name))
    graph.add_edge("begin", "left").add_edge("begin", "right").add_edge("left", "slow")
    graph.add_node("merge", visit("merge")).add_edge(["slow", "right"], "merge").add_edge("merge", "write")
    assert visited(graph, task) == ["begin", "left", "right", "slow", "merge"]


def test_a_plain_node_can_run_beside_an_actor(task: Task) -> None:
    graph = graph_with("begin", visit("begin")).add_node("log", visit("log"))
    graph.add_edge("begin", "write").add_edge("begin", "log").add_edge("log", END)
    assert visited(graph, task) == ["begin", "log"]


def test_two_plain_nodes_that_write_one_field_at_once_are_told_so(task: Task) -> None:
    class Said(EpisodeState):
        word: str = ""

    graph = FeedbackGraph(Said).add_node("begin", lambda state: {}).set_entry("begin")
    for name in ("left", "right"):
        graph.add_node(name, lambda state: {"word": "x"}).add_edge("begin", name)
    graph.add_node("merge", lambda state: {}).add_edge(["left", "right"], "merge").add_edge("merge", END)
    with pytest.raises(GraphError, match="Two nodes wrote the same field of the state in one superstep"):
        graph.compile().run(task)


def test_a_node_is_given_what_it_asks_for(task: Task) -> None:
    given: dict[str, Any] = {}

    async def asks(
        state: Visited, runtime: Runtime[Episode], config: RunnableConfig, writer: StreamWriter
    ) -> dict[str, Any]:
        given.update(episode=runtime.context.id, tags=config.get("tags"), trial=state.trial)
        writer("hello")
        return {}

    app = graph_with("asks", asks).add_edge("asks", "write").compile()
    result = app.run(task, config={"tags": ["mine"]})
    assert given == {"episode": result.episode_id, "tags": ["mine"], "trial": 0}


def test_what_blocks_does_not_run_in_the_event_loops_thread(task: Task) -> None:
    threads: list[int] = []

    class Blocking:
        def __call__(self, state: Any) -> dict[str, Any]:
            threads.append(threading.get_ident())
            return {}

    def node(state: Any) -> dict[str, Any]:
        threads.append(threading.get_ident())
        return {}

    async def on_the_loop(state: Any) -> dict[str, Any]:
        threads.append(threading.get_ident())
        return {}

    for blocking in (node, Blocking(), partial(node)):
        graph_with("node", blocking).add_edge("node", "write").compile().run(task)
    assert threading.get_ident() not in threads
    threads.clear()
    graph_with("node", on_the_loop).add_edge("node", "write").compile().run(task)
    assert threads == [threading.get_ident()]


def test_a_plain_function_may_return_an_awaitable(task: Task) -> None:
    async def late(state: Any) -> dict[str, Any]:
        return {"seen": ["late"]}

    assert visited(graph_with("node", lambda state: late(state)).add_edge("node", "write"), task) == ["late"]


def test_langgraphs_own_options_reach_it(task: Task) -> None:
    tries: list[int] = []

    def shaky(state: Any) -> dict[str, Any]:
        tries.append(1)
        if len(tries) < 2:
            raise ConnectionError
        return {}

    graph = graph_with("shaky", shaky, retry_policy=RetryPolicy(initial_interval=0.001, jitter=False))
    graph.add_edge("shaky", "write").compile().run(task)
    assert len(tries) == 2
    with pytest.raises(GraphError, match="can't be given error_handler"):
        FeedbackGraph().add_node("n", shaky, error_handler=shaky)


def test_a_runnable_and_an_entrypoint_can_be_nodes(task: Task) -> None:
    def note(state: dict[str, Any]) -> dict[str, Any]:
        return {"seen": [f"trial {state['trial']}"]}

    chain = RunnableLambda(note).with_config(tags=["chain"])
    assert visited(graph_with("chain", chain).add_edge("chain", "write"), task) == ["trial 0"]

    @entrypoint()
    async def flow(state: dict[str, Any]) -> dict[str, Any]:
        return {"seen": ["flow"]}

    assert visited(graph_with("flow", cast("Any", flow)).add_edge("flow", "write"), task) == ["flow"]


def cheap_then_strong(cheap: Guesser, strong: Guesser, critic: Noter | None = None) -> FeedbackGraph:
    """`try` judges; its FAIL opens the way into a nested graph with an actor of its own."""
    inner = loop(strong, Check(), critic)
    outer = FeedbackGraph().add_actor("write", cheap).add_tool("try", Check()).add_node("strong", inner)
    return outer.add_edge("write", "try").refine("try", to="strong")


def test_a_feedback_graph_in_a_feedback_graph_is_let_in_by_a_gate(task: Task) -> None:
    strong = Guesser([["closer"], ["right"]])
    result = cheap_then_strong(Guesser([["wrong"]]), strong, Noter()).compile().run(task)
    assert (result.stop_reason, result.trials) == (StopReason.VERIFIED, 3)
    assert strong.seen[0].failing is not None
    assert strong.seen[0].failing.signal.issuer == "try"
    assert result.best is not None
    assert result.best.signal.issuer == "strong/test"


def test_its_actor_is_refused_where_no_gate_led_in(task: Task) -> None:
    inner = loop(Guesser([["wrong"]]), Check())
    outer = FeedbackGraph().add_node("inner", inner).add_actor("write", Guesser([["wrong"]])).set_entry("write")
    outer.add_edge("write", "inner")
    with pytest.raises(GroundingError, match="no signal has opened the way"):
        outer.compile().run(task)


def test_it_can_be_the_entry(task: Task) -> None:
    outer = FeedbackGraph().add_node("inner", loop(Guesser([["wrong"], ["right"]]), Check())).set_entry("inner")
    assert outer.compile().run(task).stop_reason is StopReason.VERIFIED


def test_its_loops_are_proved_with_the_rest() -> None:
    bad = FeedbackGraph().add_actor("write", Guesser([])).add_critic("reflect", Noter())
    bad.add_edge("write", "reflect").add_edge("reflect", "write")
    outer = FeedbackGraph().add_node("inner", bad).set_entry("inner")
    with pytest.raises(UngroundedLoopError, match="inner/write → inner/reflect → inner/write can repeat"):
        outer.compile()
    around = FeedbackGraph().add_node("inner", loop(Guesser([]), Check())).set_entry("inner")
    around.add_node("again", visit("again")).add_edge("inner", "again").add_edge("again", "inner")
    with pytest.raises(UngroundedLoopError, match="inner/write → again → inner → inner/write can repeat"):
        around.compile()


def test_its_wiring_is_checked_like_any_other() -> None:
    inner = FeedbackGraph().add_actor("write", Guesser([])).refine("write", to="write")
    with pytest.raises(GraphError, match="which is not a tool"):
        FeedbackGraph().add_node("inner", inner).set_entry("inner").compile()
    with pytest.raises(GraphError, match="refine leads to 'inner', which is not an actor"):
        graph = FeedbackGraph().add_tool("test", Check()).set_entry("test")
        graph.add_node("inner", FeedbackGraph().add_tool("t", Check()).set_entry("t"))
        graph.refine("test", to="inner").compile()


def test_a_plain_node_in_it_may_jump_out_only_as_declared(task: Task) -> None:
    noted: list[str] = []

    def build(destinations: Sequence[str]) -> FeedbackGraph:
        inner = FeedbackGraph().add_node("out", lambda state: undeclared("log", "__parent__"), destinations=[])
        inner.set_entry("out").add_edge("out", END)
        outer = FeedbackGraph().add_node("inner", inner, destinations=destinations).set_entry("inner")
        outer.add_node("log", lambda state: noted.append("log")).add_edge("log", END)
        return outer.add_conditional_edges("inner", lambda state: END, ["log"], role="pure")

    with pytest.raises(GroundingError, match="inner/out jumped to log"):
        build([]).compile().run(task)
    assert build(["log"]).compile().run(task).stop_reason is StopReason.NO_VERDICT
    assert noted == ["log"]


def test_a_router_that_has_to_wait_can_not_follow_a_jump_out(task: Task) -> None:
    inner = FeedbackGraph().add_node("out", lambda state: undeclared("log", "__parent__"), destinations=[])
    inner.set_entry("out").add_edge("out", END)
    outer = FeedbackGraph().add_node("inner", inner, destinations=["log"]).set_entry("inner")
    outer.add_node("log", lambda state: {}).add_edge("log", END)

    async def waits(state: Any) -> str:
        await asyncio.sleep(0)
        return END

    outer.add_conditional_edges("inner", waits, ["log"])
    with pytest.raises(GraphError, match="has to wait for something"):
        outer.compile().run(task)
