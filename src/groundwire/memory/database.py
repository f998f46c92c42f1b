"""One database, used from threads: opened at first use, each piece of work one transaction, retried while locked."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from groundwire.errors import StorageError
from groundwire.memory.engine import WRITES, open_engine
from groundwire.memory.failures import explain, is_busy, is_cut_off
from groundwire.memory.migrate import upgrade
from groundwire.memory.place import Place, prepare

__all__ = ["Database"]

T = TypeVar("T")

_LOCK_WAIT_S = 5.0
"""Longest wait inside the database before the retry, which is fairer, takes over."""


class Database:
    """Runs transactions.

    Args:
        place: which database.
        connections: the most that are open at once.
        busy_s: seconds to go on trying while it is locked, or after the connection was lost: the one retry of storage.
    """

    def __init__(self, place: Place, *, connections: int, busy_s: float) -> None:
        self._place = place
        self._connections = connections
        self._lock_wait_s = min(_LOCK_WAIT_S, busy_s)
        self._retrying = Retrying(
            retry=retry_if_exception(lambda error: is_busy(error) or is_cut_off(error)),
            stop=stop_after_delay(busy_s),
            wait=wait_random_exponential(multiplier=0.01, max=0.5),
            reraise=True,
        )
        self._opening = threading.Lock()
        self._engine: Engine | None = None
        self._readers: Engine | None = None
        self._writers: Engine | None = None

    def read(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` on one consistent view.

        Raises:
            StorageError: with the reason; `StorageBusy` where it stayed locked.
        """
        return self._guarded("read from", lambda: self._once(work, writes=False))

    def write(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in one transaction; it is kept when this returns.

        Raises:
            StorageError: nothing was written, for the reason given.
        """
        return self._guarded("write to", lambda: self._once(work, writes=True))

    def alone(self, statements: Sequence[str]) -> None:
        """Runs statements each by itself, outside of any transaction: those that tidy up the whole database.

        Raises:
            StorageError: with the reason; those before it are done.
        """
        self._guarded("tidy up", lambda: self._each(statements))

    def _each(self, statements: Sequence[str]) -> None:
        if self._engine is None:
            self._open()
        assert self._engine is not None
        if self._place.is_sqlite:
            # the driver's own connection: SQLAlchemy would begin a transaction
            raw = self._engine.raw_connection()
            try:
                for statement in statements:
                    raw.cursor().execute(statement).fetchall()
            finally:
                raw.close()
            return
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    def close(self) -> None:
        """Closes all connections; the next use opens it again."""
        with self._opening:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.dispose()

    def _once(self, work: Callable[[Connection], T], *, writes: bool) -> T:
        if self._engine is None:
            self._open()
        engine = self._writers if writes else self._readers
        assert engine is not None
        with engine.connect() as connection, connection.begin() as transaction:
            result = work(connection)
            if writes:
                self._commit(transaction.commit)
        return result

    def _commit(self, commit: Callable[[], None]) -> None:
        try:
            commit()
        except SQLAlchemyError as error:
            if not is_cut_off(error):
                raise
            raise StorageError(
                f"The connection to {self._place.shown} was cut during a commit: the last records may be kept or not.",
                do="Check the server, then resume: what was kept is not done again.",
            ) from error

    def _guarded(self, doing: str, work: Callable[[], T]) -> T:
        try:
            return self._retrying(work)
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise explain(error, doing, self._place) from error

    def _open(self) -> None:
        with self._opening:
            if self._engine is not None:
                return
            prepare(self._place)
            engine = open_engine(self._place, connections=self._connections, lock_wait_s=self._lock_wait_s)
            try:
                upgrade(engine, self._place)
            except BaseException:
                engine.dispose()
                raise
            if self._place.is_sqlite:
                self._readers = engine
            else:
                # One view for all statements of a read, so that an episode is never seen with a gap in its middle.
                self._readers = engine.execution_options(isolation_level="REPEATABLE READ")
            self._writers = engine.execution_options(**{WRITES: True})
            self._engine = engine
