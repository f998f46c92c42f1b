"""One superstep a trial, or one a node: the same nodes in the same order with the same ledger."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from guessing import Check, Guesser, Noter, loop, no_verdict
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.callbacks import BaseCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver

from groundwire import Budget, FeedbackApp, FeedbackGraph, NoVerdict, Observation, Origin, Task, Tree, Verdict
from groundwire.core._records import Record
from groundwire.core._signals import Signal
from groundwire.memory import InMemoryStore

WORDS = ["wrong", "right", "x", "x right", "y"]


def says(text: str) -> Observation | None:
    match text:
        case "x":
            return no_verdict(NoVerdict.GO_ON, Origin.ENVIRONMENT)
        case "y":
            return no_verdict(NoVerdict.NOTHING_COLLECTED)
        case _:
            return None


def build(batches: list[list[str]], *, critic: bool, entry: str, confirm: bool, plain: bool) -> FeedbackGraph:
    graph = FeedbackGraph().add_actor("write", Guesser(batches), width=2).add_tool("test", Check(override=says))
    if plain:
        graph.add_node("note", lambda state: {}, role="pure").add_edge("write", "note").add_edge("note", "test")
    else:
        graph.add_edge("write", "test")
    if critic:
        graph.add_critic("reflect", Noter())
    if confirm:
        graph.add_tool("second", Check(("x", "right"))).confirm("test", by="second")
    graph.refine("test", via="reflect" if critic else None, to="write").advance("test", to="write")
    return graph.set_entry(entry)


def comparable(record: Record) -> Any:
    """A record without what differs between two runs of the same thing."""
    fields = record.model_dump() if isinstance(record, Signal) else dataclasses.asdict(record)
    varying = {"id", "run_id", "episode_id", "signal_id", "lesson_id", "lessons", "created_at", "seal", "duration_s"}
    return type(record).__name__, {k: v for k, v in fields.items() if k not in varying}


async def ledger_of(app: FeedbackApp, config: dict[str, Any] | None = None) -> list[Any]:
    result = await app.arun(Task(id="t", tree=Tree({"answer.txt": b"nothing"})), config=config)
    return [comparable(r) for r in await app.store.records(result.episode_id)]


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=2), max_size=4),
    st.booleans(),
    st.sampled_from(["write", "test"]),
    st.booleans(),
    st.booleans(),
)
async def test_the_ledger_is_the_same(
    batches: list[list[str]], critic: bool, entry: str, confirm: bool, plain: bool
) -> None:
    ledgers: list[list[Any]] = []
    for config in (None, {"tags": ["one superstep a node"]}):
        graph = build(batches, critic=critic, entry=entry, confirm=confirm, plain=plain)
        app = graph.compile(store=InMemoryStore(), budget=Budget(trials=3, steps=3))
        try:
            ledgers.append(await ledger_of(app, config))
        except Exception as error:  # the same refusal
            ledgers.append([type(error)])
    assert ledgers[0] == ledgers[1]


class Supersteps(BaseCallbackHandler):
    def __init__(self) -> None:
        self.nodes: list[str] = []

    def on_chain_start(self, serialized: Any, inputs: Any, *, metadata: Any = None, **kwargs: Any) -> None:
        if metadata and "langgraph_node" in metadata and kwargs.get("name") == metadata["langgraph_node"]:
            self.nodes.append(metadata["langgraph_node"])


async def test_who_watches_sees_every_node(task: Task) -> None:
    app = loop(Guesser([["wrong"], ["right"]]), Check(), Noter()).compile()
    seen = Supersteps()
    await app.arun(task, config={"callbacks": [seen]})
    assert seen.nodes == ["write", "test", "reflect", "write", "test"]


@pytest.mark.parametrize("options", [{"checkpointer": InMemorySaver()}, {"interrupt_before": ["test"]}])
def test_who_keeps_or_stops_at_supersteps_gets_one_a_node(options: Any, task: Task) -> None:
    graph = loop(Guesser([["wrong"], ["right"]]), Check(), Noter())
    assert graph.compile(**options)._graph_for(None).builder.edges == graph.compile().langgraph.builder.edges  # pyright: ignore[reportPrivateUsage]


async def test_a_trial_is_one_superstep_where_nobody_watches(task: Task) -> None:
    app = loop(Guesser([["wrong"], ["right"]]), Check(), Noter()).compile()
    strides = app._graph_for(None)  # pyright: ignore[reportPrivateUsage]
    nodes: list[str] = []
    async with app.episode(task) as episode:
        async for update in strides.astream(app.input(episode), context=episode, stream_mode="updates"):
            nodes += update
    assert nodes == ["write", "write"]


def test_what_is_added_after_compiling_changes_nothing(task: Task) -> None:
    graph = loop(Guesser([["wrong"], ["right"]]), Check())
    app = graph.compile()
    graph.add_node("late", lambda state: 1 / 0).add_edge("late", "write").set_entry("late")
    assert app.run(task).verdict is Verdict.PASS
