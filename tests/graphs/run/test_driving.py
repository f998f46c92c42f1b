"""LangGraph's own strengths through an episode, and going on from the ledger alone."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from dying import dies_and_goes_on
from guessing import ANSWER, Check, Guesser, Noter, loop
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from groundwire import (
    EpisodeState,
    FeedbackGraph,
    StopReason,
    Task,
)
from groundwire.core._candidates import Tree
from groundwire.core._errors import RecordNotFound, SealError
from groundwire.core._records import Admission, ReflectionRecord
from groundwire.core._signals import Evidence, Signal
from groundwire.memory import InMemoryStore


def test_langgraph_interrupts_checkpoints_and_resumes(task: Task) -> None:
    def ask(state: EpisodeState) -> dict[str, Any]:
        interrupt("May it be judged?")
        return {}

    graph = FeedbackGraph().add_actor("write", Guesser([["a"], ["right"]])).add_tool("test", Check())
    graph.add_node("ask", ask, role="pure").add_edge("write", "ask").add_edge("ask", "test").refine("test", to="write")
    store = InMemoryStore()
    app = graph.compile(store=store, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}

    async def go() -> tuple[Any, ...]:
        run_id = await app.start_run()
        first = await app.arun(task, run_id=run_id, config=config)
        again = partial(app.arun, task, run_id=run_id, episode_id=first.episode_id, config=config, resume="yes")
        second, third = await again(), await again()
        return first, second, third

    first, second, third = asyncio.run(go())
    assert first.stop_reason is StopReason.INTERRUPTED
    assert first.interrupts[0].value == "May it be judged?"
    assert second.stop_reason is StopReason.INTERRUPTED
    assert (third.stop_reason, third.signals, third.trials) == (StopReason.VERIFIED, 2, 2)


def test_langgraph_streams_updates_through_the_open_episode(task: Task) -> None:
    app = loop(Guesser([["wrong"], ["right"]]), Check(), Noter()).compile()

    async def go() -> list[str]:
        nodes: list[str] = []
        async with app.episode(task) as episode:
            async for update in app.langgraph.astream(app.input(episode), context=episode, stream_mode="updates"):
                nodes += update
        return nodes

    assert asyncio.run(go()) == ["write", "test", "reflect", "write", "test"]


@pytest.mark.parametrize("after", range(1, 8))
def test_an_episode_goes_on_from_the_ledger_alone_without_repeating_anything(task: Task, after: int) -> None:
    store = InMemoryStore()
    actor, critic, check = Guesser([["wrong"], ["worse"], ["right"]]), Noter(), Check()
    app = loop(actor, check, critic).compile(store=store)
    written = 0

    def enough(record: object) -> bool:
        nonlocal written
        written += isinstance(record, (Signal, Admission, ReflectionRecord))
        return written == after

    result = asyncio.run(dies_and_goes_on(app, task, enough))
    assert (result.stop_reason, result.trials, result.signals) == (StopReason.VERIFIED, 3, 3)
    assert check.judged == ["wrong", "worse", "right"]
    assert (len(actor.seen), len(critic.seen), result.reflections) == (3, 2, 2)


def test_going_on_verifies_seals_and_files(task: Task) -> None:
    class Edited(InMemoryStore):
        async def records(self, episode_id: str) -> Any:
            return [
                r.model_copy(update={"evidence": Evidence(detail="edited")}) if isinstance(r, Signal) else r
                for r in await super().records(episode_id)
            ]

    store = Edited()
    app = loop(Guesser([["right"]]), Check()).compile(store=store)

    async def go(other: Task) -> None:
        run_id = await app.start_run()
        first = await app.arun(task, run_id=run_id)
        await app.arun(other, run_id=run_id, episode_id=first.episode_id)

    with pytest.raises(SealError, match="does not match"):
        asyncio.run(go(task))
    with pytest.raises(RecordNotFound, match="about other files"):
        asyncio.run(go(replace(task, tree=Tree({ANSWER: b"changed"}))))
