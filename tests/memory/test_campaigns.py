"""What the processes that work on one run tell each other, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from groundwire.core._errors import LeaseLost, RecordNotFound
from groundwire.core._records import EpisodeEnd, EpisodeRecord, RunRecord, StopReason
from groundwire.core._signals import Verdict
from groundwire.memory import SqlStore
from groundwire.memory._campaigns import Campaign, Lease, current_lease

LONG, OVER = 600.0, -1.0
"""Seconds of a lease: one that lasts, and one that has run out."""
NOTHING = {"usd": 0.0, "tokens": 0.0, "calls": 0.0, "trials": 0.0}


@pytest.fixture
async def store(url: str) -> AsyncIterator[SqlStore]:
    made = SqlStore(url)
    yield made
    await made.aclose()


@pytest.fixture
async def other(url: str) -> AsyncIterator[SqlStore]:
    """The same database, as another process has it."""
    made = SqlStore(url)
    yield made
    await made.aclose()


async def opened(store: SqlStore, run: RunRecord, tasks: int = 3, **more: Any) -> Campaign:
    campaign = Campaign(store, run.id)
    given: dict[str, Any] = {"workers": 2, "at_once": 0, "most": {}, "used": None, **more}
    await campaign.open([f"task {n}" for n in range(tasks)], frozenset(), **given)
    return campaign


async def report(campaign: Campaign, name: str, lease_s: float = LONG) -> set[tuple[int, int]]:
    told = await campaign.report(name, place="here:1", in_flight=0, said="", lease_s=lease_s)
    return set(told.held)


def episode_of(run: RunRecord, task_id: str) -> EpisodeRecord:
    return EpisodeRecord(run_id=run.id, task_id=task_id, family="", base_digest="b" * 64, seed=0)


async def taken(campaign: Campaign, name: str, lease_s: float = LONG) -> Lease:
    lease = await campaign.take(name, lease_s)
    assert lease is not None
    return lease


async def test_each_task_is_one_workers_however_many_take_at_once(
    store: SqlStore, other: SqlStore, run: RunRecord
) -> None:
    mine = await opened(store, run, 20)
    theirs = Campaign(other, run.id)
    takes = [campaign.take(name, LONG) for _ in range(12) for campaign, name in ((mine, "a"), (theirs, "b"))]
    leases = [lease for lease in await asyncio.gather(*takes) if lease is not None]
    assert sorted(lease.position for lease in leases) == list(range(20))
    assert {lease.task_id for lease in leases} == {f"task {n}" for n in range(20)}
    assert dict(await mine.counts()) == {"waiting": 0, "held": 20, "ended": 0}


async def test_a_lease_that_has_run_out_is_taken_over_and_its_old_holder_writes_nothing_more(
    store: SqlStore, other: SqlStore, run: RunRecord
) -> None:
    await store.append(run)
    campaign, theirs = await opened(store, run, 1), Campaign(other, run.id)
    late = await taken(campaign, "late", OVER)
    assert await theirs.take("b", LONG) is None, "until somebody looks, it is still held"
    await report(theirs, "b")
    new = await taken(theirs, "b")
    assert (new.position, new.takings) == (0, 2)

    token = current_lease.set(late)
    with pytest.raises(LeaseLost, match="taken over from worker late"):
        await store.append(episode_of(run, "task 0"))
    current_lease.set(new)
    await other.append(episode_of(run, "task 0"))
    current_lease.reset(token)
    assert [one.task_id for one in await store.episodes(run.id)] == ["task 0"]
    assert not await campaign.finish(late, "{}") and await theirs.finish(new, "{}")
    assert await report(campaign, "late") == set()


async def test_what_one_worker_may_not_write_costs_none_beside_it_its_records(store: SqlStore, run: RunRecord) -> None:
    await store.append(run)
    campaign = await opened(store, run, 8)
    leases = [await taken(campaign, "a") for _ in range(8)]
    await campaign.leave("a")
    again = [await taken(campaign, "b") for _ in range(4)]

    async def write(lease: Lease) -> None:
        current_lease.set(lease)
        await store.append(episode_of(run, f"{lease.holder} {lease.position}"))

    told = await asyncio.gather(
        *(asyncio.create_task(write(lease)) for lease in (*leases, *again)), return_exceptions=True
    )
    assert [type(one) for one in told] == [LeaseLost] * 8 + [type(None)] * 4
    assert {one.task_id for one in await store.episodes(run.id)} == {f"b {n}" for n in range(4)}


async def test_a_report_moves_leases_on_and_says_which_are_left(store: SqlStore, run: RunRecord) -> None:
    campaign = await opened(store, run, 2)
    first, second = await taken(campaign, "a", OVER), await taken(campaign, "a", OVER)
    assert await report(campaign, "a") == {first.key, second.key}, "late, and nobody else had looked"
    await report(campaign, "b")
    assert await campaign.take("b", LONG) is None
    await campaign.give_back(first)
    assert (await taken(campaign, "b")).position == 0
    assert await report(campaign, "a") == {second.key}


async def test_nothing_is_handed_out_while_it_is_paused(store: SqlStore, run: RunRecord) -> None:
    campaign = await opened(store, run)
    lease = await taken(campaign, "a")
    await campaign.steer(state="paused", workers=5, at_once=7)
    assert await campaign.take("a", LONG) is None
    assert await report(campaign, "a") == {lease.key}, "what is in flight goes on"
    standing = await campaign.standing()
    assert (standing.state, standing.workers, standing.at_once) == ("paused", 5, 7)
    over = await campaign.open(["task 0", "task 1", "task 2"], frozenset(), workers=1, at_once=0, most={}, used=None)
    standing = await campaign.standing()
    assert (standing.state, standing.workers, over) == ("running", 5, frozenset()), "as it was last told"
    assert (await taken(campaign, "a")).position == 1


async def test_many_reserve_and_never_more_than_there_is(store: SqlStore, other: SqlStore, run: RunRecord) -> None:
    campaign, theirs = await opened(store, run, most={"calls": 10.0, "usd": 1.0}), Campaign(other, run.id)
    one = {**NOTHING, "calls": 1.0, "usd": 0.05}
    held = await asyncio.gather(*(place.hold(f"e{n}", one) for n in range(12) for place in (campaign, theirs)))
    assert sum(held) == 10
    standing = await campaign.standing()
    assert (standing.used["calls"], standing.held["calls"]) == (0, 10)
    for n in range(10):
        await campaign.settle(f"e{n}", one, {**NOTHING, "calls": 1.0, "usd": 0.01})
    standing = await campaign.standing()
    assert (standing.used["calls"], standing.held["calls"]) == (10, 0)
    assert standing.used["usd"] == pytest.approx(0.1)  # pyright: ignore[reportUnknownMemberType]
    assert not await campaign.hold("e", one)
    await campaign.steer(most={"calls": 11.0})
    assert await campaign.hold("e", one)


async def test_what_a_dead_worker_held_is_set_right_by_whoever_goes_on(store: SqlStore, run: RunRecord) -> None:
    campaign = await opened(store, run, most={"calls": 10.0})
    for _ in range(3):
        await campaign.hold("e", {**NOTHING, "calls": 1.0})
    await campaign.settle("e", {**NOTHING, "calls": 1.0}, {**NOTHING, "calls": 1.0})
    await campaign.hold("f", {**NOTHING, "calls": 1.0})
    await campaign.set_right("e", {**NOTHING, "calls": 2.0})
    standing = await campaign.standing()
    assert (standing.used["calls"], standing.held["calls"]) == (2, 1), "the other episode's is as it was"


async def test_a_task_is_requeued_with_a_new_episode_and_one_that_is_held_goes_to_another_worker(
    store: SqlStore, run: RunRecord
) -> None:
    await store.append(run)
    campaign = await opened(store, run, 2)
    first, second = await taken(campaign, "a"), await taken(campaign, "a")
    episode = episode_of(run, "task 0")
    await store.append(episode, EpisodeEnd(episode_id=episode.id, verdict=Verdict.NONE, stop_reason=StopReason.STUCK))
    assert await campaign.episode_of(first, is_first_try=True) is None, "who is the first to have it does not look"
    assert await campaign.episode_of(first, is_first_try=False) == episode.id, "it may have begun it itself"
    assert await campaign.episode_of(replace(first, takings=2), is_first_try=True) == episode.id
    await campaign.finish(first, "{}")
    assert [await campaign.requeue(f"task {n}") for n in range(2)] == ["ended", "held"]
    again = await taken(campaign, "b")
    assert again.position == 0 and await campaign.episode_of(again, is_first_try=True) is None
    assert (await taken(campaign, "b")).position == 1 and not await campaign.finish(second, "{}")
    with pytest.raises(RecordNotFound, match="no task nowhere"):
        await campaign.requeue("nowhere")


async def test_a_run_of_one_process_is_no_campaign(store: SqlStore, run: RunRecord) -> None:
    await store.append(run)
    campaign = Campaign(store, run.id)
    assert not await campaign.exists()
    with pytest.raises(RecordNotFound, match="not one that several processes work on"):
        await campaign.standing()
