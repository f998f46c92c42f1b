"""Group commit: what is appended while the ledger is being written goes into one transaction with what waits beside it.

Thousands of episodes at once would else stand in line for thousands of small transactions. Each append still returns
only when its own records are kept; one that can't be kept keeps no other one from it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from groundwire.memory import ledger
from groundwire.memory.database import Database
from groundwire.memory.workers import Workers
from groundwire.records import Record

__all__ = ["Grouping"]

MOST = 64
"""Appends in one transaction at most: other processes wait for no longer than that takes."""


@dataclass(frozen=True)
class _Turn:
    """One append that waits, and who waits for it."""

    records: Sequence[Record]
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
        turn = _Turn(records, loop, loop.create_future())
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
            troubles = ledger.append_each(database, self._namespace, [turn.records for turn in turns])
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
