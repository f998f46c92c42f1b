"""Worker threads for a database, so that an event loop never waits for a disk or a lock."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar, cast

from groundwire.memory._database import Database
from groundwire.memory._place import DatabaseLocation

T = TypeVar("T")

_SERVER_THREADS = 4
_SQLITE_READERS = 2

_INHERITED: list[object] = []
"""Copies that a fork made: they have no threads, and their connections are the parent's, so they are never closed."""


class _Team:
    """A database with the threads that use it; belongs to one process."""

    def __init__(self, place: DatabaseLocation, busy_s: float) -> None:
        self.pid = os.getpid()
        self.writers = ThreadPoolExecutor(_writers(place), thread_name_prefix="groundwire-ledger")
        self.readers = self.writers
        connections = _writers(place)
        if place.file is not None:
            # SQLite has one writer at a time, so more threads would only wait for each other; readers never wait.
            self.readers = ThreadPoolExecutor(_SQLITE_READERS, thread_name_prefix="groundwire-recall")
            connections += _SQLITE_READERS + 1  # the writer reads too, on one that does not write
        self.database = Database(place, connections=connections, busy_s=busy_s)

    def end(self, *, wait: bool) -> None:
        if self.pid != os.getpid():
            return
        self.writers.shutdown(wait=wait)
        self.readers.shutdown(wait=wait)
        self.database.close()


def _writers(place: DatabaseLocation) -> int:
    return 1 if place.is_sqlite else _SERVER_THREADS


async def _done_in(pool: ThreadPoolExecutor, work: Callable[[Database], T], database: Database) -> T:
    """What `work` gives, done in a thread. `run_in_executor` does the same with three futures and twice the time."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, trouble: BaseException | None) -> None:
        if done.done():  # cancelled
            return
        if trouble is None:
            done.set_result(cast("T", result))
        else:
            done.set_exception(trouble)

    def run() -> None:
        result, trouble = None, None
        try:
            result = work(database)
        except BaseException as error:
            trouble = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell, result, trouble)

    pool.submit(run)
    return await done


class Workers:
    """Runs work on the database in threads; started at first use, and again after `aclose` or a fork.

    Args:
        place: which database.
        busy_s: seconds to go on trying while it is locked.
    """

    def __init__(self, place: DatabaseLocation, *, busy_s: float) -> None:
        self._place = place
        self._busy_s = busy_s
        self._lock = threading.Lock()
        self._team: _Team | None = None
        self._at_exit: weakref.finalize[..., Workers] | None = None

    async def read(self, work: Callable[[Database], T]) -> T:
        """Runs `work` beside others that read."""
        team = self._started()
        return await _done_in(team.readers, work, team.database)

    async def write(self, work: Callable[[Database], T]) -> T:
        """Runs `work` after the writes that came before it, where the database has one writer."""
        team = self._started()
        return await _done_in(team.writers, work, team.database)

    def send(self, work: Callable[[Database], None]) -> None:
        """Has `work` done among the writes; nobody waits for it, so it tells of its errors itself."""
        team = self._started()
        team.writers.submit(work, team.database)

    async def aclose(self) -> None:
        """Lets what was begun end, then closes."""
        with self._lock:
            team, self._team = self._team, None
        if self._at_exit is not None:
            self._at_exit.detach()
        if team is not None:
            await asyncio.to_thread(team.end, wait=True)

    def _started(self) -> _Team:
        team = self._team
        if team is None or team.pid != os.getpid():
            team = self._start()
        return team

    def _start(self) -> _Team:
        with self._lock:
            if self._team is None or self._team.pid != os.getpid():
                if self._team is not None:
                    _INHERITED.append(self._team)
                self._team = _Team(self._place, self._busy_s)
                self._at_exit = weakref.finalize(self, self._team.end, wait=False)
            return self._team
