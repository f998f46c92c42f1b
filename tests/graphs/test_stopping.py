"""An episode that is cancelled stops, also where a tool, an actor or a library swallows the cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from guessing import Check, Guesser, Noter, answer, loop

from groundwire import Budget, FeedbackGraph, Observation, StopReason, Task
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, ToolContext
from groundwire.core._errors import ModelRejected
from groundwire.core._records import EpisodeEnd
from groundwire.core._signals import Signal
from groundwire.memory import InMemoryStore


async def swallow(reached: asyncio.Event) -> None:
    """Waits to be cancelled, and says nothing of it."""
    reached.set()
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()


class Swallows(Check):
    reached: asyncio.Event

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        if not self.reached.is_set():
            await swallow(self.reached)
        return await super().judge(candidate, task, context)


@dataclass
class ActorThatSwallows:
    reached: asyncio.Event
    then: Callable[[], None] = lambda: None
    proposed: list[int] = field(default_factory=list[int])

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        self.proposed.append(context.trial)
        await swallow(self.reached)
        self.then()
        return [answer(context.task, "wrong")]


async def cancel(app: Any, task: Task, reached: asyncio.Event) -> None:
    running = asyncio.create_task(app.arun(task))
    await reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def kinds(store: InMemoryStore) -> list[type]:
    (run,) = await store.runs()
    (episode,) = await store.episodes(run.id)
    return [type(record) for record in await store.records(episode.id)]


async def test_a_tool_that_swallows_it_is_the_last_that_runs_and_what_it_saw_is_kept(task: Task) -> None:
    tool, store = Swallows(), InMemoryStore()
    tool.reached = asyncio.Event()
    guesser = Guesser([["wrong", "worse", "no"], ["right"]])
    await cancel(loop(guesser, tool, Noter(), width=3).compile(store=store), task, tool.reached)
    assert (tool.judged, len(guesser.seen)) == (["wrong"], 1)
    assert (await kinds(store))[-1] is Signal and EpisodeEnd not in await kinds(store)


async def test_an_actor_that_swallows_it_is_the_last_that_runs(task: Task) -> None:
    actor, check, store = ActorThatSwallows(asyncio.Event()), Check(), InMemoryStore()
    graph = FeedbackGraph().add_actor("write", actor).add_tool("test", check).add_edge("write", "test")
    await cancel(graph.compile(store=store), task, actor.reached)
    assert (actor.proposed, check.judged) == ([1], [])
    assert EpisodeEnd not in await kinds(store)


async def test_an_error_that_came_of_it_is_no_end_of_the_episode(task: Task) -> None:
    def fail() -> None:
        raise ModelRejected("the connection was closed under me")

    actor, store = ActorThatSwallows(asyncio.Event(), fail), InMemoryStore()
    graph = FeedbackGraph().add_actor("write", actor).add_tool("test", Check()).add_edge("write", "test")
    await cancel(graph.compile(store=store), task, actor.reached)
    assert EpisodeEnd not in await kinds(store)


async def test_time_that_is_over_stops_one_that_swallows_that_as_well(task: Task) -> None:
    tool = Swallows()
    tool.reached = asyncio.Event()
    app = loop(Guesser([["wrong"], ["right"]]), tool, Noter()).compile(budget=Budget(seconds=1.5))
    result = await app.arun(task)
    assert (result.stop_reason, tool.judged) == (StopReason.BUDGET_SECONDS, ["wrong"])


async def test_a_task_that_was_cancelled_once_and_went_on_can_run_an_episode(task: Task) -> None:
    async def later(run: Callable[[], Awaitable[Any]]) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return await run()

    app = loop(Guesser([["wrong"], ["right"]]), Check(), Noter()).compile()
    running = asyncio.create_task(later(lambda: app.arun(task)))
    await asyncio.sleep(0)
    running.cancel()
    assert (await running).stop_reason is StopReason.VERIFIED
