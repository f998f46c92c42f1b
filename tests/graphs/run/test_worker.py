"""Workers that share a run: what they come to is what one process would have come to, whatever happens to them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from campaign_graph import CALLS, PRICE, bill, make

from groundwire import FeedbackApp, StopReason, Task, Tree
from groundwire.core._errors import StorageError
from groundwire.core._records import EpisodeEnd, ModelCall, Record
from groundwire.graphs.replay._replay import first_difference
from groundwire.graphs.run._batch import QueuedEpisode
from groundwire.graphs.run._budget import RunBudget
from groundwire.graphs.run._result import EpisodeResult
from groundwire.graphs.run._sandboxes import Sandboxes
from groundwire.graphs.run._worker import Worker, WorkerPace
from groundwire.memory import SqlStore
from groundwire.memory._campaigns import Campaign

TASKS = tuple(Task(id=f"task {n}", family=f"family {n}", tree=Tree({"solution.py": b"nothing"})) for n in range(8))
QUICK = WorkerPace(lease_s=30.0, report_s=0.05, look_s=0.01, patience_s=5.0)


@dataclass
class Shared:
    """A run on one database that several stores are open on, as several processes have them."""

    url: str
    run_id: str = ""
    results: dict[int, list[EpisodeResult]] = field(default_factory=dict[int, list[EpisodeResult]])

    async def begin(self, tasks: Sequence[Task] = TASKS, **told: Any) -> Campaign:
        store = SqlStore(self.url)
        self.run_id = await self.app(store).start_run()
        campaign = Campaign(store, self.run_id)
        given: dict[str, Any] = {"workers": 2, "at_once": 0, "most": {}, "used": None, **told}
        await campaign.open([task.id for task in tasks], frozenset(), **given)
        return campaign

    def app(self, store: SqlStore) -> FeedbackApp:
        return make().compile(store=store)

    def worker(self, store: SqlStore, name: str, **told: Any) -> Worker:
        app = self.app(store)

        def ended(position: int, result: EpisodeResult) -> str:
            self.results.setdefault(position, []).append(result)
            return "{}"

        given: dict[str, Any] = {"at_once": 2, "pace": QUICK, **told}
        campaign = Campaign(store, self.run_id)
        return Worker(store, campaign, name, lambda n: QueuedEpisode(app, TASKS[n], 7), ended, Sandboxes(None), **given)

    async def work(self, count: int, **told: Any) -> None:
        async with AsyncExitStack() as closing, asyncio.TaskGroup() as group:
            for n in range(count):
                store = await closing.enter_async_context(aclosing(SqlStore(self.url)))
                group.create_task(self.worker(store, f"w{n}", **told).run())

    async def records(self) -> Mapping[str, Sequence[Record]]:
        async with aclosing(SqlStore(self.url)) as store:
            episodes = await store.episodes(self.run_id)
            assert len({one.task_id for one in episodes}) == len(episodes)
            return {one.task_id: await store.records(one.id) for one in episodes}


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110  nobody tells of it
        await asyncio.sleep(0.002)


async def until_held(campaign: Campaign, count: int) -> None:
    while (await campaign.counts())["held"] < count:  # noqa: ASYNC110  likewise
        await asyncio.sleep(0.01)


@pytest.fixture
def charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Counter[str]]:
    """How often each request was charged."""
    monkeypatch.setenv("GROUNDWIRE_TEST_BILL", str(tmp_path / "bill"))
    return lambda: Counter(bill(tmp_path / "bill"))


@pytest.fixture
async def alone(tmp_path: Path) -> Mapping[str, Sequence[Record]]:
    """What one process comes to, by task."""
    async with aclosing(SqlStore(f"sqlite:///{tmp_path}/alone.db")) as store:
        app = make().compile(store=store)
        results = await app.abatch(TASKS, seed=7)
        return {one.task_id: await store.records(one.episode_id) for one in results}


def check_same(found: Mapping[str, Sequence[Record]], alone: Mapping[str, Sequence[Record]]) -> None:
    assert found.keys() == alone.keys()
    for task_id, records in alone.items():
        assert first_difference(records, found[task_id], is_whole=True)[1] is None
        assert sum(isinstance(record, EpisodeEnd) for record in found[task_id]) == 1


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_three_workers_write_what_one_process_writes(
    database: str, request: pytest.FixtureRequest, tmp_path: Path, alone: Mapping[str, Sequence[Record]]
) -> None:
    url = f"sqlite:///{tmp_path}/l.db" if database == "sqlite" else request.getfixturevalue("postgres_url")
    shared = Shared(url)
    campaign = await shared.begin()
    await shared.work(3)
    assert {n: [one.stop_reason for one in ended] for n, ended in shared.results.items()} == {
        n: ["verified"] for n in range(len(TASKS))
    }
    check_same(await shared.records(), alone)
    assert dict(await campaign.counts()) == {"waiting": 0, "held": 0, "ended": len(TASKS)}
    assert not await campaign.workers(), "who has left is no longer listed"


async def test_what_a_worker_left_is_gone_on_with_and_only_what_was_in_flight_is_paid_twice(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    charged: Callable[[], Counter[str]],
    alone: Mapping[str, Sequence[Record]],
) -> None:
    paid_alone = charged()
    shared = Shared(f"sqlite:///{tmp_path}/l.db")
    campaign = await shared.begin()
    monkeypatch.setenv("GROUNDWIRE_TEST_LATENCY", "0.02")
    store = SqlStore(shared.url)
    dying = asyncio.create_task(shared.worker(store, "dies").run())
    await until(lambda: sum(charged().values()) >= sum(paid_alone.values()) + 12)
    with monkeypatch.context() as dead:
        # as after kill -9: nobody says that it has left
        dead.setattr(Campaign, "leave", _nothing)
        dying.cancel()
        await asyncio.gather(dying, return_exceptions=True)
    await store.aclose()
    assert (await campaign.counts())["held"] == 2
    await campaign.leave("dies")
    with monkeypatch.context() as large:
        large.setattr(SqlStore, "episodes", _too_many)
        await shared.work(2)
    check_same(await shared.records(), alone)
    twice = charged() - paid_alone - paid_alone
    assert sum(twice.values()) <= 2, "at most what was in flight"


async def _nothing(*_: object) -> None:
    pass


async def _too_many(*_: object, **__: object) -> None:
    raise AssertionError("whoever takes a task over reads its episode alone, not those of the whole run")


async def test_a_worker_that_was_taken_for_dead_loses_its_episode_and_the_ledger_holds_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: Mapping[str, Sequence[Record]]
) -> None:
    shared = Shared(f"sqlite:///{tmp_path}/l.db")
    campaign = await shared.begin()
    monkeypatch.setenv("GROUNDWIRE_TEST_LATENCY", "0.05")
    async with aclosing(SqlStore(shared.url)) as store:
        asleep = asyncio.create_task(
            shared.worker(store, "asleep", pace=WorkerPace(report_s=3600.0, look_s=0.01)).run()
        )
        await until_held(campaign, 2)
        await asyncio.sleep(0.1)
        await campaign.leave("asleep")  # it knows nothing of it, and goes on
        await shared.work(1)
        await asleep
    check_same(await shared.records(), alone)
    assert {n: len(ended) for n, ended in shared.results.items()} == dict.fromkeys(range(len(TASKS)), 1)


@pytest.mark.parametrize("first_s", [600.0, -600.0])
async def test_clocks_that_are_minutes_apart_neither_lose_a_lease_nor_use_up_a_total(
    first_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: Mapping[str, Sequence[Record]]
) -> None:
    shared = Shared(f"sqlite:///{tmp_path}/l.db")
    campaign = await shared.begin(most={"seconds": 300.0})
    monkeypatch.setenv("GROUNDWIRE_TEST_LATENCY", "0.02")
    right, right_ns = time.time, time.time_ns

    def set_clock(off_s: float) -> None:
        monkeypatch.setattr("time.time", lambda: right() + off_s)
        monkeypatch.setattr("time.time_ns", lambda: right_ns() + int(off_s * 1e9))

    set_clock(first_s)
    store = SqlStore(shared.url)
    dying = asyncio.create_task(shared.worker(store, "dies").run())
    await until_held(campaign, 2)
    with monkeypatch.context() as dead:
        dead.setattr(Campaign, "leave", _nothing)
        dying.cancel()
        await asyncio.gather(dying, return_exceptions=True)
    await store.aclose()
    set_clock(-first_s)
    await campaign.report("looks", place="", in_flight=0, said="", lease_s=30.0)
    assert (await campaign.counts())["held"] == 2, "its leases have not run out"
    await campaign.leave("dies")
    await shared.work(2)
    check_same(await shared.records(), alone)
    assert {reason for ended in shared.results.values() for reason in (one.stop_reason for one in ended)} == {
        "verified"
    }


@pytest.mark.parametrize("workers", [1, 3])
async def test_a_runs_budget_holds_for_all_of_its_workers(
    workers: int, tmp_path: Path, charged: Callable[[], Counter[str]]
) -> None:
    most = 3 * CALLS + 2
    shared = Shared(f"sqlite:///{tmp_path}/l.db")
    campaign = await shared.begin(most={"calls": float(most), "usd": 100.0})
    await shared.work(workers)
    standing = await campaign.standing()
    assert sum(charged().values()) == most == standing.used["calls"] and standing.held["calls"] == 0
    assert standing.used["usd"] == pytest.approx(most * PRICE)  # pyright: ignore[reportUnknownMemberType]
    reasons = Counter(one.stop_reason for ended in shared.results.values() for one in ended)
    assert set(reasons) <= {"verified", "budget_run"}
    # how many are taken before a worker hears that all is spent depends on when it last asked
    assert reasons[StopReason.BUDGET_RUN] + (await campaign.counts())["waiting"] >= len(TASKS) - most // CALLS
    found = await shared.records()
    assert sum(isinstance(r, ModelCall) for records in found.values() for r in records) == most


async def test_a_call_that_could_cost_more_than_is_left_is_not_made(
    tmp_path: Path, charged: Callable[[], Counter[str]]
) -> None:
    shared = Shared(f"sqlite:///{tmp_path}/l.db")
    await shared.begin(most={"usd": 1.5 * PRICE})
    await shared.work(1, at_once=1)
    assert not charged(), "the most that a call may cost is twice what it does"
    assert [one.stop_reason for one in shared.results[0]] == ["budget_run"]
    assert "left" in shared.results[0][0].detail


async def test_a_run_of_one_process_under_the_same_budget_ends_alike(tmp_path: Path) -> None:
    async with aclosing(SqlStore(f"sqlite:///{tmp_path}/alone.db")) as store:
        app = make().compile(store=store, run_budget=RunBudget(usd=1.5 * PRICE))
        (result,) = await app.abatch(TASKS[:1])
    assert (result.stop_reason, "left" in result.detail) == ("budget_run", True)


async def test_paused_workers_end_what_they_are_at_and_take_no_more(tmp_path: Path) -> None:
    shared = Shared(f"sqlite:///{tmp_path}/l.db")
    campaign = await shared.begin()

    async def pause() -> None:
        await until(lambda: bool(shared.results))
        await campaign.steer(state="paused")

    await asyncio.gather(shared.work(2, at_once=1), pause())
    counts = await campaign.counts()
    assert counts["held"] == 0 and 0 < counts["ended"] == len(shared.results)
    await campaign.steer(state="running")
    await shared.work(1)
    assert len(shared.results) == len(TASKS)


async def test_a_worker_that_is_retired_leaves_the_rest_to_the_others(tmp_path: Path) -> None:
    shared = Shared(f"sqlite:///{tmp_path}/l.db")
    campaign = await shared.begin()
    async with aclosing(SqlStore(shared.url)) as store:
        worker = shared.worker(store, "w", at_once=1)
        running = asyncio.create_task(worker.run())
        await until(lambda: bool(shared.results))
        await campaign.retire("w")
        await running
    assert (await campaign.counts())["waiting"] > 0


async def test_more_at_once_is_obeyed_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDWIRE_TEST_LATENCY", "0.05")
    shared = Shared(f"sqlite:///{tmp_path}/l.db")
    campaign = await shared.begin()
    most = 0

    async def look() -> None:
        nonlocal most
        await campaign.steer(at_once=6)
        while len(shared.results) < len(TASKS):
            most = max(most, (await campaign.counts())["held"])
            await asyncio.sleep(0.01)

    await asyncio.gather(shared.work(1, at_once=1), look())
    assert most > 2


async def test_one_worker_ends_a_run_that_nobody_drives_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = Shared(f"sqlite:///{tmp_path}/l.db")
    campaign = await shared.begin()
    async with AsyncExitStack() as closing:
        stores = [await closing.enter_async_context(aclosing(SqlStore(shared.url))) for _ in range(2)]
        workers = [shared.worker(store, f"w{n}") for n, store in enumerate(stores)]
        await asyncio.gather(*(worker.run() for worker in workers))
        waiting = [asyncio.create_task(worker.is_left_to_end_it()) for worker in workers]
        await asyncio.sleep(0.2)
        assert not any(task.done() for task in waiting), "whoever drives it may be about to"
        monkeypatch.setattr("groundwire.graphs.run._worker.ALONE_S", 0.0)
        assert sorted(await asyncio.gather(*waiting)) == [False, True]
    assert (await campaign.standing()).state == "ended"


async def test_a_full_machine_takes_nothing_and_says_so(tmp_path: Path) -> None:
    shared = Shared(f"sqlite:///{tmp_path}/l.db")
    campaign = await shared.begin()
    room = ["the disk is full"]

    async def look() -> None:
        while not any(one.said == room[0] for one in await campaign.workers()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert dict(await campaign.counts())["waiting"] == len(TASKS)
        room.clear()

    await asyncio.gather(shared.work(1, no_room=lambda: room[0] if room else ""), look())
    assert len(shared.results) == len(TASKS)


def method_of(lost: Callable[..., Awaitable[Any]], real: Callable[..., Awaitable[Any]]) -> Any:
    async def method(store: SqlStore, *given: Any) -> Any:
        return await lost(real, store, *given)

    return method


async def test_a_database_that_goes_away_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: Mapping[str, Sequence[Record]]
) -> None:
    shared = Shared(f"sqlite:///{tmp_path}/l.db")
    await shared.begin()
    is_away = asyncio.Event()
    write = SqlStore.run_write
    append = SqlStore.append

    async def lost(real: Callable[..., Awaitable[Any]], *given: Any) -> Any:
        if is_away.is_set():
            raise StorageError("the server can't be reached")
        return await real(*given)

    monkeypatch.setattr(SqlStore, "run_write", method_of(lost, write))
    monkeypatch.setattr(SqlStore, "append", method_of(lost, append))

    async def cut() -> None:
        await until(lambda: bool(shared.results))
        is_away.set()
        await asyncio.sleep(0.3)
        is_away.clear()

    await asyncio.gather(shared.work(2), cut())
    check_same(await shared.records(), alone)


async def test_a_database_that_stays_away_is_an_error(tmp_path: Path) -> None:
    shared = Shared(f"sqlite:///{tmp_path}/l.db")
    await shared.begin()
    (tmp_path / "l.db").chmod(0o400)
    with pytest.raises(ExceptionGroup) as caught:
        async with asyncio.TaskGroup() as group:
            store = SqlStore(f"sqlite:///{tmp_path}/nowhere/l.db")
            group.create_task(shared.worker(store, "w", pace=WorkerPace(look_s=0.01, patience_s=0.1)).run())
    assert isinstance(caught.value.exceptions[0], StorageError)
