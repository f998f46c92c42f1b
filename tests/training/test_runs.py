"""However many episodes runs have, few of them are in memory at once."""

from __future__ import annotations

import asyncio
import gc
from contextlib import aclosing
from pathlib import Path

import pytest
from recorded_runs import gone_through, ledger_at, question, read, repairing, run, saying

from groundwire.core._records import EPISODES_AT_ONCE, EpisodeRecord, RunRecord
from groundwire.memory import _checking
from groundwire.memory._checking import EpisodeCheck, check_run
from groundwire.training import Trajectory, _runs
from groundwire.training._runs import AT_ONCE

MANY = 5 * EPISODES_AT_ONCE


async def begun(folder: Path, count: int, *, questions: int = 10) -> RunRecord:
    """A run of episodes that have only begun, about a few questions in turns."""
    record = RunRecord(graph="of the test")
    async with aclosing(ledger_at(folder)) as store:
        await store.append(record)
        episodes = [
            EpisodeRecord(run_id=record.id, task_id=f"task-{n % questions}", family="", task='{"prompt": "?"}',
                          base_digest="", seed=n)
            for n in range(count)
        ]  # fmt: skip
        await store.append(*episodes)
    return record


def alive(kind: type[object]) -> int:
    gc.collect()
    # by type alone: isinstance would ask objects of other tests what they are, and a lazy module answers with a warning
    return sum(type(one) is kind for one in gc.get_objects())


def test_a_long_run_is_read_a_page_at_a_time(tmp_path: Path, run_of: RunRecord) -> None:
    before, trajectories, seen, read_so_far = alive(EpisodeRecord), alive(Trajectory), 0, list[int]()
    told = _runs.Trajectories(ledger_at(tmp_path), [run_of], progress=read_so_far.append)
    for seen, trajectory in enumerate(told, 1):
        assert trajectory.seed == seen - 1
        if seen in (1, MANY // 2, MANY):
            assert alive(EpisodeRecord) - before <= EPISODES_AT_ONCE + 2 * AT_ONCE
            assert alive(Trajectory) - trajectories <= 2 * AT_ONCE + 1
    assert seen == MANY and read_so_far == list(range(1, MANY + 1))


def test_groups_hold_no_more_than_their_own_episodes(tmp_path: Path, run_of: RunRecord) -> None:
    before, trajectories, groups = alive(EpisodeRecord), alive(Trajectory), list[list[int]]()
    for group in gone_through(tmp_path, run_of).in_groups(lambda trajectory: trajectory.task):
        groups.append([trajectory.seed for trajectory in group])
        if len(groups) in (1, 10):
            assert alive(EpisodeRecord) - before <= EPISODES_AT_ONCE
            assert alive(Trajectory) - trajectories <= 2 * len(group) + AT_ONCE
        assert len({trajectory.task for trajectory in group}) == 1
    assert groups == [list(range(first, MANY, 10)) for first in range(10)]


def test_groups_are_told_apart_by_more_than_eight_bytes(
    tmp_path: Path, run_of: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    def same(_key: str) -> int:
        return 7

    monkeypatch.setattr(_runs, "short_digest", same)
    sizes = [len(group) for group in gone_through(tmp_path, run_of).in_groups(lambda one: one.task)]
    assert sizes == [MANY // 10] * 10


@pytest.fixture
def run_of(tmp_path: Path) -> RunRecord:
    return asyncio.run(begun(tmp_path, MANY))


async def test_seals_are_checked_a_page_at_a_time_and_nothing_of_the_episodes_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_checking, "PAGE", 2)
    async with aclosing(ledger_at(tmp_path)) as store:
        record = await run(store, repairing([saying("42")] * 5), *[question(f"sum-{n}") for n in range(5)])
        looked_at: list[int] = []
        whole = await check_run(store, record.id, progress=looked_at.append)
        before = alive(EpisodeCheck)
        flat = await check_run(store, record.id, keeps_episodes=False)
        assert whole.holds and flat.holds and (whole.records, whole.signals) == (flat.records, flat.signals)
        assert len(whole.episodes) == 5 and looked_at == [1, 2, 4, 5] and not flat.episodes
        assert alive(EpisodeCheck) <= before
    assert {one.id for one in whole.episodes} == {one.episode for one in await read(tmp_path, record)}
