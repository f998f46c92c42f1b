"""A node may call only the LangGraph graphs that the proof has seen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from guessing import Check, Guesser, answer, loop
from langgraph.graph import START
from plain_nodes import graph_with, team, visit, visited

from groundwire import FeedbackGraph, StopReason, Task
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, CriticContext, Reflection
from groundwire.core._errors import GroundingError
from groundwire.core._records import ReflectionRecord
from groundwire.memory import InMemoryStore


def helper() -> Any:
    return team((START, "plan"), plan=visit("plan")).compile()


def hidden_helper() -> Any:
    """A graph that nobody sees before it is called."""
    return globals()["helper"]()


class Asks:
    """An actor that builds the graph it asks, so that nobody sees it before."""

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        graph = hidden_helper()
        await graph.ainvoke({"seen": []})
        return [answer(context.task, "right")]


def test_a_graph_that_the_proof_has_not_seen_is_refused(task: Task) -> None:
    graph = FeedbackGraph().add_actor("write", Asks()).add_tool("test", Check()).add_edge("write", "test")
    graph.refine("test", to="write")
    with pytest.raises(GroundingError, match="write called a LangGraph graph that the proof has not seen"):
        graph.compile().run(task)


@pytest.mark.parametrize("blocking", [False, True])
def test_a_plain_node_may_not_call_an_unseen_graph_either(task: Task, blocking: bool) -> None:
    async def calls(state: Any) -> Any:
        return await hidden_helper().ainvoke({"seen": []})

    def calls_blocking(state: Any) -> Any:
        return hidden_helper().invoke({"seen": []})

    graph = graph_with("node", calls_blocking if blocking else calls).add_edge("node", "write")
    with pytest.raises(GroundingError, match="node called a LangGraph graph"):
        graph.compile().run(task)


def test_a_declared_graph_may_be_called(task: Task) -> None:
    graph = FeedbackGraph().add_actor("write", Asks(), graphs={"helper": helper()}).add_tool("test", Check())
    assert graph.add_edge("write", "test").refine("test", to="write").compile().run(task).trials == 1
    seen = helper()

    async def calls(state: Any) -> Any:
        return await seen.ainvoke({"seen": []})

    assert visited(graph_with("node", calls).add_edge("node", "write"), task) == ["plan"]


def test_an_episode_inside_an_actor_is_one_of_its_own(task: Task) -> None:
    inner = loop(Guesser([["wrong"], ["right"]]), Check()).compile()

    class Delegates:
        async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
            result = await inner.arun(context.task)
            return [result.best.candidate] if result.best else []

    graph = FeedbackGraph().add_actor("write", Delegates()).add_tool("test", Check()).add_edge("write", "test")
    assert graph.refine("test", to="write").compile().run(task).stop_reason is StopReason.VERIFIED


def test_in_one_superstep_each_node_may_call_what_was_declared_for_it_alone(task: Task) -> None:
    class Reflects:
        async def reflect(self, context: CriticContext) -> Reflection:
            await hidden_helper().ainvoke({"seen": []})
            return Reflection("wrong", by="a graph")

    class AsksLater(Guesser):
        async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
            if context.reflection is not None:
                await hidden_helper().ainvoke({"seen": []})
            return await super().propose(context, n)

    graph = FeedbackGraph().add_actor("write", AsksLater([["wrong"], ["right"]])).add_tool("test", Check())
    graph.add_critic("reflect", Reflects(), graphs={"helper": helper()}).add_edge("write", "test")
    store = InMemoryStore()
    app = graph.refine("test", via="reflect", to="write").compile(store=store)
    with pytest.raises(GroundingError, match="write called a LangGraph graph that the proof has not seen"):
        app.run(task)
    run = asyncio.run(store.runs())[0]
    (episode,) = asyncio.run(store.episodes(run.id))
    records = asyncio.run(store.records(episode.id))
    assert [r.text for r in records if isinstance(r, ReflectionRecord)] == ["wrong"], "the critic's was declared"
