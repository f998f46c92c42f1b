"""The durable store, SQLite or PostgreSQL: what waits while the ledger is written goes into one transaction."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection

from groundwire.core._contexts import EditStatistics, Lesson
from groundwire.core._experience import Experience
from groundwire.core._masking import mask
from groundwire.core._models import Embedder
from groundwire.core._records import (
    Admission,
    EpisodeEnd,
    EpisodeRecord,
    Link,
    ModelCall,
    Record,
    ReflectionRecord,
    RunEnd,
    RunRecord,
)
from groundwire.core._signals import Signal
from groundwire.memory import _ledger as ledger
from groundwire.memory._campaigns import Lease, current_lease
from groundwire.memory._database import Database
from groundwire.memory._place import locate
from groundwire.memory._ranking import RecallQuery
from groundwire.memory._recall import no_meaning, recall
from groundwire.memory._refusals import no_artifact, no_signal
from groundwire.memory._sql import Sql
from groundwire.memory._statements import (
    ADMITTED,
    ALL_ROWS,
    ANSWERS,
    EPISODE_ENDS,
    EPISODES,
    EPISODES_AFTER,
    JUDGEMENTS,
    LAST_LINKS,
    LINKS,
    RUN_ENDS,
    RUNS,
    SIGNAL,
)
from groundwire.memory._text import escape
from groundwire.memory._workers import Workers

if TYPE_CHECKING:
    from groundwire.memory._vectors import Vectors


# Group commit: what is appended while the ledger is being written goes into one transaction with what waits beside
# it.
#
# Thousands of episodes at once would else stand in line for thousands of small transactions. Each append still
# returns only when its own records are kept; one that can't be kept keeps no other one from it.

MOST = 64
"""Appends in one transaction at most: other processes wait for no longer than that takes."""


@dataclass(frozen=True)
class _Turn:
    """One append that waits, who waits for it, and under which lease."""

    records: Sequence[Record]
    lease: Lease | None
    loop: asyncio.AbstractEventLoop
    kept: asyncio.Future[None]


_Told = tuple["asyncio.Future[None]", "BaseException | None"]


class _Line:
    """What waits to be written; belongs to one process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.turns: list[_Turn] = []
        self.is_called = False
        """A thread will come for them."""


class Grouping:
    """Appends to the ledger of one namespace.

    Args:
        workers: the threads that write.
        namespace: whose ledger it is.
    """

    def __init__(self, workers: Workers, namespace: str) -> None:
        self._workers = workers
        self._namespace = namespace
        self._line = _Line()

    async def append(self, records: Sequence[Record]) -> None:
        """Returns when `records` are kept. Cancelling does not take back what waits: it is written all the same.

        Raises:
            StorageError: nothing of the call was written; the message says why.
        """
        line = self._line
        if line.pid != os.getpid():  # a fork: whoever waits there waits in the parent
            line = self._line = _Line()
        loop = asyncio.get_running_loop()
        turn = _Turn(records, current_lease.get(), loop, loop.create_future())
        with line.lock:
            line.turns.append(turn)
            calls = not line.is_called
            line.is_called = True
        if calls:
            self._workers.send(lambda database: self._write(line, database))
        await turn.kept

    def _write(self, line: _Line, database: Database) -> None:
        """In a thread of the workers'."""
        with line.lock:
            turns, line.turns = line.turns[:MOST], line.turns[MOST:]
            line.is_called = bool(line.turns)
        if line.is_called:
            self._workers.send(lambda database: self._write(line, database))
        try:
            groups, leases = [turn.records for turn in turns], [turn.lease for turn in turns]
            troubles = ledger.append_each(database, self._namespace, groups, leases)
        except BaseException as trouble:
            troubles = [trouble] * len(turns)
            _tell(turns, troubles)
            raise
        _tell(turns, troubles)


def _tell(turns: Sequence[_Turn], troubles: Sequence[BaseException | None]) -> None:
    """Wakes whoever waits, each event loop once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Told]] = defaultdict(list)
    for turn, trouble in zip(turns, troubles, strict=True):
        by_loop[turn.loop].append((turn.kept, trouble))
    for loop, told in by_loop.items():
        with suppress(RuntimeError):  # it is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, told)


def _settle(told: Sequence[_Told]) -> None:
    for kept, trouble in told:
        if kept.done():
            continue
        if trouble is None:
            kept.set_result(None)
        else:
            kept.set_exception(trouble)


# The durable store: SQLite or PostgreSQL.

R = TypeVar("R")
T = TypeVar("T")


class SqlStore:
    """See `groundwire.core._records.Store`. What `append` returned from survives kill -9.

    Nothing is opened before the first use. It may be used from any number of event loops, threads and processes; after
    `aclose` the next use opens it again.

    Args:
        url: any SQLAlchemy URL of SQLite (`sqlite:///FILE`) or PostgreSQL (`postgresql://USER@HOST/DATABASE`), or
            `archive:FOLDER`, what `groundwire archive` wrote, to be read alone; default:
            `$XDG_DATA_HOME/groundwire/groundwire.db`.
        busy_s: seconds to go on trying while other processes keep the database locked.
        namespace: whose memory it is. What one namespace wrote is never seen through a store of another; only bodies,
            which are asked for by the digest of what they hold, are kept once for all.
        embedder: also ranks a family's lessons by their meaning; without one, words alone are compared.

    Raises:
        ConfigError: the URL can't be read or names another kind of database.
        StorageError: PostgreSQL's driver is not installed.
    """

    def __init__(
        self, url: str | None = None, *, busy_s: float = 30.0, namespace: str = "", embedder: Embedder | None = None
    ) -> None:
        self._place = locate(url)
        self.namespace = namespace
        self._workers = Workers(self._place, busy_s=busy_s)
        self._appends = Grouping(self._workers, namespace)
        self._vectors: Vectors | None = None
        if embedder is not None:
            from groundwire.memory._vectors import Vectors

            self._vectors = Vectors(self._workers, namespace, embedder)

    def __repr__(self) -> str:
        return f"SqlStore({self.url!r})"

    @property
    def durable(self) -> bool:
        """True, but for SQLite in memory (`sqlite://`)."""
        return self._place.is_durable

    @property
    def is_archive(self) -> bool:
        """True for `archive:FOLDER`, to which nothing is written."""
        return self._place.archive is not None

    @property
    def url(self) -> str:
        """Where it is, without any password."""
        return self._place.shown

    async def append(self, *records: Record) -> None:
        """See `Store`.

        Raises:
            StorageError: nothing of the call was written; the message says why. `StorageBusy`: it stayed locked.
        """
        if records:
            await self._appends.append(records)
        learned = [record.id for record in records if isinstance(record, ReflectionRecord)]
        if learned and self._vectors:
            # the records are kept, whatever comes of this; what is missing is filled in, or complained of, at recall
            with suppress(Exception):
                await self._vectors.learn(learned)

    async def runs(self, *, prefix: str = "", limit: int = 50) -> Sequence[RunRecord]:
        """See `Store`."""
        values = {"prefix": prefix, "length": len(escape(prefix)), "limit": max(limit, 0), "namespace": self.namespace}
        return await self._rows(RUNS, values, RunRecord)

    async def episodes(self, run_id: str, *, after: str = "", most: int | None = None) -> Sequence[EpisodeRecord]:
        """See `Store`."""
        values: dict[str, Any] = {"run_id": run_id, "namespace": self.namespace}
        values["most"] = ALL_ROWS if most is None else most
        if after:
            return await self._rows(EPISODES_AFTER, {**values, "after": after}, EpisodeRecord)
        return await self._rows(EPISODES, values, EpisodeRecord)

    async def ends(self, run_id: str) -> Sequence[RunEnd | EpisodeEnd]:
        """See `Store`."""
        values = {"run_id": run_id, "namespace": self.namespace}
        return [*await self._rows(RUN_ENDS, values, RunEnd), *await self._rows(EPISODE_ENDS, values, EpisodeEnd)]

    async def records(self, episode_id: str) -> Sequence[Record]:
        """See `Store`."""
        (found,) = await self.records_of_each([episode_id])
        return found

    async def records_of_each(self, episode_ids: Sequence[str]) -> Sequence[Sequence[Record]]:
        """See `groundwire.core._records.BatchStore`."""
        return await self._workers.read(lambda database: ledger.records_of_each(database, self.namespace, episode_ids))

    async def links(self, run_id: str, of: str) -> Sequence[Link]:
        """See `Store`."""
        return await self._rows(LINKS, {"run_id": run_id, "of": of}, Link)

    async def last_links(self, run_id: str) -> Sequence[Link]:
        """See `Store`."""
        return await self._rows(LAST_LINKS, {"run_id": run_id}, Link)

    async def signal(self, signal_id: str) -> Signal:
        """See `Store`."""
        found = await self._rows(SIGNAL, {"id": signal_id, "namespace": self.namespace}, Signal)
        if not found:
            raise no_signal(signal_id, self.url)
        return found[0]

    async def admitted(self, signal_id: str) -> Admission | None:
        """See `Store`."""
        found = await self._rows(ADMITTED, {"signal_id": signal_id, "namespace": self.namespace}, Admission)
        return found[0] if found else None

    async def artifact(self, digest: str) -> bytes:
        """See `Store`."""
        found = await self._workers.read(lambda database: ledger.artifact_of(database, digest))
        if found is None:
            raise no_artifact(digest, self.url)
        return found

    async def recall(
        self,
        task_id: str,
        family: str,
        *,
        signature: str = "",
        frames: Sequence[str] = (),
        text: str = "",
        window: int = 3,
        max_tokens: int = 2000,
    ) -> Sequence[Lesson]:
        """See `Store`."""
        if window <= 0:
            return []
        question = RecallQuery.of(task_id, family, signature, frames, text, window, max_tokens)
        by_meaning = no_meaning
        if self._vectors and question.by_meaning:
            by_meaning = await self._vectors.ranking(question)
        return await self._workers.read(
            lambda database: database.read(lambda session: recall(session, self.namespace, question, by_meaning))
        )

    async def lessons(self, ids: Sequence[str]) -> Sequence[Lesson]:
        """See `Store`."""
        return await self._workers.read(lambda database: ledger.lessons_of(database, self.namespace, ids))

    async def answers(self, request_digest: str) -> Sequence[ModelCall]:
        """See `Store`."""
        values = {"request_digest": request_digest, "namespace": self.namespace}
        return await self._rows(ANSWERS, values, ModelCall)

    async def judgements(self, candidate_digest: str) -> Sequence[Signal]:
        """See `Store`."""
        values = {"candidate_digest": candidate_digest, "namespace": self.namespace}
        return await self._rows(JUDGEMENTS, values, Signal)

    async def edit_statistics(self, family: str, signature: str) -> EditStatistics:
        """See `Store`. Only signals from outside every model count, and none of hidden tests."""
        return await self._workers.read(
            lambda database: ledger.edit_statistics(database, self.namespace, mask(family), mask(signature))
        )

    async def experience(self, family: str, task_id: str) -> Experience:
        """See `Store`."""
        from groundwire.memory._experience_rows import experience  # here, since only tasks in environments have any

        return await self.run_read(lambda session: experience(session, self.namespace, mask(family), mask(task_id)))

    async def run_read(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` on one consistent view of the database; for this package."""
        return await self._workers.read(lambda database: database.read(work))

    async def run_write(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in one transaction; for this package."""
        return await self._workers.write(lambda database: database.write(work))

    async def run_alone(self, sqlite: Sequence[str], postgres: Sequence[str]) -> None:
        """Runs statements that tidy up the whole database, each by itself; for this package."""
        statements = sqlite if self._place.is_sqlite else postgres
        await self._workers.write(lambda database: database.alone(statements))

    async def aclose(self) -> None:
        """Closes connections and ends the worker threads, after what was begun."""
        await self._workers.aclose()

    async def _rows(self, query: Sql, values: Mapping[str, Any], kind: type[R]) -> list[R]:
        return await self._workers.read(lambda database: ledger.rows_of(database, query, values, kind))
