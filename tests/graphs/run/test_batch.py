"""Many episodes in one run: how many at a time, in which order, and what one failure does to the others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

import pytest
from guessing import ANSWER, Check, Guesser, answer, loop

from groundwire import Budget, EpisodeResult, FeedbackApp, FeedbackGraph, Observation, StopReason, Task, Tree, Verdict
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, ToolContext
from groundwire.core._errors import ConfigError, PartError, StorageError, TaskError
from groundwire.core._records import CandidateRecord, EpisodeEnd, Record
from groundwire.core._tasks import Hidden
from groundwire.graphs.run._batch import Work, run_batch
from groundwire.graphs.run._sandboxes import Sandboxes
from groundwire.memory import InMemoryStore


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
    await run_batch(
        works,
        lambda _work, r: found.append(r),
        run_id=run_id,
        sandboxes=Sandboxes(None),
        at_once=at_once,
        on_error="raise",
    )
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


class Breaks(Counting):
    """Raises what is none of ours in one task of three, and no error of ours in another."""

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        if context.task.id == "bug":
            raise ZeroDivisionError("of nothing")
        return await super().propose(context, n)


async def test_an_error_in_one_episode_costs_no_other_its_result(task: Task) -> None:
    tasks = [replace(task, id=name) for name in ("a", "bug", "bad", "b")]
    app = app_of(Breaks(), InMemoryStore())
    results = await app.abatch(tasks, at_once=2)
    assert [r.stop_reason for r in results] == ["verified", "internal_error", "internal_error", "verified"]
    bug, bad = results[1:3]
    assert isinstance(bug.error, PartError) and isinstance(bug.error.__cause__, ZeroDivisionError)
    assert bug.detail == bug.error.what and bug.detail.startswith("ZeroDivisionError: of nothing (test_batch.py:")
    assert isinstance(bad.error, TaskError) and bad.detail == "no such thing"
    assert (bug.exit_code, bug.verdict) == (7, Verdict.NONE)
    ends = [r for result in results for r in await app.store.records(result.episode_id) if isinstance(r, EpisodeEnd)]
    assert [(e.stop_reason, e.detail) for e in ends] == [(r.stop_reason, r.detail) for r in results]
    assert {e.run_id for e in results} == {(await app.store.runs())[0].id}


class Wordless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class BreaksWordlessly(Counting):
    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        if context.task.id == "bug":
            raise Wordless
        return await super().propose(context, n)


async def test_an_error_whose_text_can_not_be_made_costs_no_other_its_result(task: Task) -> None:
    app = app_of(BreaksWordlessly(), InMemoryStore())
    results = await app.abatch([replace(task, id=name) for name in ("bug", "a")], at_once=1)
    assert [r.stop_reason for r in results] == ["internal_error", "verified"]
    assert results[0].detail.startswith("Wordless: its text can't be made: RuntimeError (test_batch.py:")


async def test_an_error_is_raised_as_it_was_where_that_is_asked_for(task: Task) -> None:
    app = app_of(Breaks(), InMemoryStore())
    with pytest.raises(ZeroDivisionError, match="of nothing"):
        await app.abatch([replace(task, id=name) for name in ("a", "bug")], on_error="raise")
    with pytest.raises(ZeroDivisionError):
        await app.arun(replace(task, id="bug"))
    assert (await app.arun(replace(task, id="bug"), on_error="end")).stop_reason is StopReason.INTERNAL_ERROR


async def test_an_episode_that_ended_by_an_error_replays_up_to_it(task: Task) -> None:
    class Second(Breaks):
        async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
            return await super().propose(context, n) if context.trial > 1 else [answer(context.task, "wrong")]

    app = app_of(Second(), InMemoryStore())
    (result,) = await app.abatch([replace(task, id="bug")])
    replayed = await app.areplay(replace(task, id="bug"), run_id=result.run_id, episode_id=result.episode_id)
    assert (result.trials, replayed.difference, replayed.is_whole) == (1, None, False) and replayed.compared > 3


async def test_what_an_error_says_of_the_hidden_tests_is_kept_nowhere() -> None:
    class Tells(Check):
        judges_hidden = True

        async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
            raise ValueError("assert candidate(33333333333) == 66666666666")

    hidden = Hidden(
        ("pytest",), Tree({"h/test_it.py": b"def test_it():\n    assert candidate(33333333333) == 66666666666\n"})
    )
    task = Task(id="kept", tree=Tree({ANSWER: b"nothing"}), hidden=hidden)
    graph = FeedbackGraph().add_actor("write", Counting()).add_tool("test", Check()).add_tool("last", Tells())
    graph.add_edge("write", "test").refine("test", to="write").confirm("test", by="last")
    (result,) = await graph.compile().abatch([task])
    assert result.stop_reason is StopReason.INTERNAL_ERROR and "33333333333" not in result.detail


async def test_what_could_not_even_begin_ends_with_why(task: Task) -> None:
    store = InMemoryStore()
    app = app_of(Counting(), store)
    await app.start_run()
    works = [Work(app, replace(task, id="a")), Work(app, replace(task, id="b"), error=TaskError("it has no function"))]
    first, second = sorted(await run_in(store, works), key=lambda r: r.task_id)
    assert (first.stop_reason, second.stop_reason) == (StopReason.VERIFIED, StopReason.INTERNAL_ERROR)
    assert (second.detail, second.trials, second.signals) == ("it has no function", 0, 0)


async def test_a_ledger_that_fails_stops_them_all(task: Task) -> None:
    class Full(InMemoryStore):
        async def append(self, *records: Record) -> None:
            if any(isinstance(r, CandidateRecord) for r in records):
                raise StorageError("no room")
            await super().append(*records)

    with pytest.raises(StorageError, match="no room"):
        await app_of(Counting(), Full()).abatch([task, task])
