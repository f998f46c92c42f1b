"""Appends that wait together are kept together, and one that can't be kept keeps no other one from it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from groundwire.core._errors import StorageError
from groundwire.core._ids import new_id
from groundwire.core._records import Admission, EpisodeRecord, Record, RunRecord
from groundwire.memory import SqlStore
from groundwire.memory import _ledger as ledger
from groundwire.memory._database import Database


class Watched:
    """Counts the transactions of a store, and holds the first one until it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.groups: list[int] = []
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self._real = ledger.append_each
        monkeypatch.setattr(ledger, "append_each", self._append)

    def _append(
        self, database: Database, namespace: str, groups: Sequence[Sequence[Record]], leases: Sequence[None]
    ) -> Any:
        self.groups.append(len(groups))
        if len(self.groups) == 1:
            self.begun.set()
            assert self.go_on.wait(20)
        return self._real(database, namespace, groups, leases)


def episode(run: RunRecord, name: str) -> EpisodeRecord:
    return EpisodeRecord(id=new_id(), run_id=run.id, task_id=name, family="", task="{}", base_digest="b" * 64, seed=0)


def admission(of: EpisodeRecord, signal_id: str) -> Admission:
    return Admission(
        episode_id=of.id, trial=1, signal_id=signal_id, candidate_digest="c" * 64, edge="refine", admitted=True
    )


async def test_what_waits_is_written_in_one_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqlStore(f"sqlite:///{tmp_path}/ledger.db")
    run = RunRecord()
    watched = Watched(monkeypatch)
    first = asyncio.create_task(store.append(run))
    await asyncio.to_thread(watched.begun.wait, 20)
    others = [asyncio.create_task(store.append(episode(run, f"task {n}"))) for n in range(150)]
    await asyncio.sleep(0)
    watched.go_on.set()
    await asyncio.gather(first, *others)
    assert watched.groups == [1, 64, 64, 22]
    assert [e.task_id for e in await store.episodes(run.id)] == [f"task {n}" for n in range(150)]
    await store.aclose()


async def test_one_that_is_refused_keeps_no_other_one_from_being_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal opens a gate once; who comes second is told so, and all beside it are in the ledger."""
    store = SqlStore(f"sqlite:///{tmp_path}/ledger.db")
    run = RunRecord()
    one = episode(run, "one")
    await store.append(run, one)
    watched = Watched(monkeypatch)
    holding = asyncio.create_task(store.append(episode(run, "holding")))
    await asyncio.to_thread(watched.begun.wait, 20)
    appends = [
        store.append(admission(one, "s1")),
        store.append(episode(run, "two"), admission(one, "s1")),
        store.append(episode(run, "three"), admission(one, "s2")),
    ]
    tasks = [asyncio.create_task(append) for append in appends]
    await asyncio.sleep(0)
    watched.go_on.set()
    kept, refused, also = await asyncio.gather(*tasks, return_exceptions=True)
    await holding
    assert watched.groups == [1, 3]
    assert (kept, also) == (None, None)
    assert isinstance(refused, StorageError)
    assert {e.task_id for e in await store.episodes(run.id)} == {"one", "holding", "three"}
    assert await store.admitted("s1") is not None and await store.admitted("s2") is not None
    await store.aclose()


async def test_an_append_that_is_cancelled_while_it_waits_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqlStore(f"sqlite:///{tmp_path}/ledger.db")
    run = RunRecord()
    watched = Watched(monkeypatch)
    first = asyncio.create_task(store.append(run))
    await asyncio.to_thread(watched.begun.wait, 20)
    waiting = asyncio.create_task(store.append(episode(run, "left")))
    await asyncio.sleep(0)
    waiting.cancel()
    watched.go_on.set()
    await first
    await asyncio.gather(waiting, return_exceptions=True)
    await store.append(episode(run, "after"))
    assert [e.task_id for e in await store.episodes(run.id)] == ["left", "after"]
    await store.aclose()


def test_many_loops_and_threads_share_a_store(tmp_path: Path) -> None:
    store = SqlStore(f"sqlite:///{tmp_path}/ledger.db")
    run = RunRecord()
    asyncio.run(store.append(run))

    async def some(thread: int) -> None:
        await asyncio.gather(*(store.append(episode(run, f"{thread}-{n}")) for n in range(40)))

    threads = [threading.Thread(target=asyncio.run, args=(some(n),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [e.task_id for e in asyncio.run(store.episodes(run.id))]
    assert sorted(found) == sorted(f"{t}-{n}" for t in range(4) for n in range(40))
    asyncio.run(store.aclose())


async def test_what_several_processes_write_in_turn_keeps_one_order(tmp_path: Path) -> None:
    """Each store keeps the last number that it gave; what another connection has written since comes before."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    ours, theirs = SqlStore(url), SqlStore(url)
    run = RunRecord()
    first = episode(run, "first")
    await ours.append(run, first, admission(first, "signal"))
    order = [ours, ours, theirs, theirs, ours, theirs, ours, ours]
    for number, store in enumerate(order):
        await store.append(episode(run, f"task {number}"))
        if number == 3:  # what was rolled back has used up no number that counts
            with pytest.raises(StorageError, match="admitted"):
                await theirs.append(episode(run, "lost"), admission(first, "signal"))
    names = [e.task_id for e in await theirs.episodes(run.id)]
    assert names == ["first", *(f"task {number}" for number in range(len(order)))]
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as database:
        numbers = database.execute("SELECT seq FROM episodes UNION ALL SELECT seq FROM runs").fetchall()
    assert len(set(numbers)) == len(numbers) == 2 + len(order)
    await ours.aclose()
    await theirs.aclose()
