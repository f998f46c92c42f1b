"""Many episodes in one run: how many at a time, in which order, and what one failure does to the others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

import pytest
from guessing import ANSWER, Check, Guesser, answer, loop

from groundwire import Budget, EpisodeResult, FeedbackApp, StopReason, Task, Tree
from groundwire.contexts import ActorContext
from groundwire.errors import ConfigError, TaskError
from groundwire.graphs.batch import Work, run_batch
from groundwire.graphs.sandboxes import Sandboxes
from groundwire.memory import InMemoryStore
from groundwire.trees import Candidate


class Counting:
    """An actor that is right at once, and tells how many were at it at the same time."""

    def __init__(self, most: int = 0) -> None:
        self.now = 0
        self.most = most
        self.asked = 0

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        self.now += 1
        self.asked += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        if context.task.id == "bad":
            raise TaskError("no such thing")
        return [answer(context.task, "right")]


def app_of(actor: Counting, store: InMemoryStore) -> FeedbackApp:
    return loop(actor, Check()).compile(store=store)  # pyright: ignore[reportArgumentType]  another actor than a Guesser


@pytest.fixture
async def store() -> InMemoryStore:
    store = InMemoryStore()
    await app_of(Counting(), store).start_run()
    return store


async def run_in(store: InMemoryStore, works: Iterator[Work] | Sequence[Work], at_once: int = 3) -> list[EpisodeResult]:
    found: list[EpisodeResult] = []
    run_id = (await store.runs())[0].id
    await run_batch(works, lambda _work, r: found.append(r), run_id=run_id, sandboxes=Sandboxes(None), at_once=at_once)
    return found


async def test_no_more_at_a_time_than_there_is_room_for_and_all_of_them(task: Task, store: InMemoryStore) -> None:
    actor = Counting()
    app = app_of(actor, store)
    works = [Work(app, replace(task, id=str(number)), seed=number) for number in range(9)]
    found = await run_in(store, works)
    assert {r.task_id for r in found} == set(map(str, range(9))) and actor.most == 3
    run_id = found[0].run_id
    assert [(e.task_id, e.seed) for e in await store.episodes(run_id)] == [(str(n), n) for n in range(9)]


async def test_the_next_one_is_asked_for_when_there_is_room(task: Task, store: InMemoryStore) -> None:
    """So that works may be endless: here they end the run themselves."""
    app = app_of(Counting(), store)
    asked: list[int] = []

    def endless() -> Iterator[Work]:
        for number in count():
            asked.append(number)
            yield Work(app, replace(task, id="bad" if number == 5 else str(number)))

    with pytest.raises(TaskError, match="no such thing"):
        await run_in(store, endless(), at_once=2)
    assert 6 <= len(asked) <= 8


async def test_an_episode_that_was_cut_off_goes_on(task: Task, store: InMemoryStore) -> None:
    run_id = (await store.runs())[0].id
    app = app_of(Counting(), store)
    async with app.episode(task, run_id=run_id) as begun:
        pass
    (result,) = await run_in(store, [Work(app, task, episode_id=begun.id)])
    assert (result.episode_id, result.stop_reason) == (begun.id, StopReason.VERIFIED)


async def test_a_batch_gives_results_in_the_order_of_its_tasks(task: Task) -> None:
    tasks = [replace(task, id=name, tree=Tree({ANSWER: name.encode()})) for name in ("b", "a", "b")]
    app = loop(Guesser([["right"]] * 3), Check()).compile(budget=Budget(trials=1))
    results = await app.abatch(tasks, at_once=2)
    assert [r.task_id for r in results] == ["b", "a", "b"] and len({r.episode_id for r in results}) == 3
    assert len({r.run_id for r in results}) == 1
    with pytest.raises(ConfigError, match="at_once is 0"):
        await app.abatch(tasks, at_once=0)
