"""One database, used from threads, each piece of work one transaction; what it reports, as errors with a cure."""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from groundwire.core._errors import StorageBusy, StorageError
from groundwire.memory._engine import BEGIN, WRITES, open_engine, upgrade
from groundwire.memory._place import DatabaseLocation, prepare
from groundwire.memory._refusals import admitted_already
from groundwire.memory._sql import cursor_of

# What a database reports, as errors that say what was being done, why it failed and what to do.
#
# No message of ours carries SQL, values or a password; the database's own error stays behind it as the cause.


class _Why(NamedTuple):
    why: str
    do: str


_SQLITE_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_SQLITE = {
    sqlite3.SQLITE_READONLY: _Why(
        "it is read-only", "Make the file and its folder writable, or name another database."
    ),
    sqlite3.SQLITE_PERM: _Why("access was denied", "Make the file and its folder writable, or name another database."),
    sqlite3.SQLITE_CANTOPEN: _Why(
        "the file, or the -wal and -shm files beside it, can't be opened",
        "Check that its folder exists and that you may write to it.",
    ),
    sqlite3.SQLITE_FULL: _Why("the disk is full", "Free space on that disk, or name a database on another one."),
    sqlite3.SQLITE_IOERR: _Why(
        "the disk refused to read or write",
        "Check the disk, its quota and the file size limit (ulimit -f), or name a database on another one.",
    ),
    sqlite3.SQLITE_NOTADB: _Why("it is not a SQLite database", "Name another file; this one was left as it is."),
    sqlite3.SQLITE_CORRUPT: _Why(
        "the file is damaged", "Restore it from a copy, or move it away and start with a fresh one."
    ),
    sqlite3.SQLITE_TOOBIG: _Why("a text or body is too large for it", "Keep one body below 1 GB."),
    sqlite3.SQLITE_NOMEM: _Why("memory ran out", "Free memory, or run fewer episodes at once."),
}

_PG_BUSY = {"40001", "40P01", "55P03", "53300", "57P03"}
_PG_BUSY_WORDS = ("too many clients", "remaining connection slots", "starting up")
_PG = {
    "28": _Why(
        "it refused the user or password", "Check the user and password in the URL, or the server's pg_hba.conf."
    ),
    "3D": _Why("there is no database of that name", "Create it (createdb NAME), or name another one in the URL."),
    "3F": _Why("the schema does not exist", "Create the schema, or leave it out of the URL."),
    "42501": _Why("the user may not do that", "Grant the user rights on the database's schema."),
    "25006": _Why("it is read-only", "Name the primary server, not a replica."),
    "53100": _Why("its disk is full", "Free space on the server."),
    "53": _Why("it ran out of resources", "Give the server more, or run fewer episodes at once."),
    "54": _Why("a text or id is too large for it", "Shorten task ids and families to less than 2,000 bytes."),
    "22": _Why(
        "its encoding can't hold the text",
        "Use a database created with ENCODING 'UTF8' (createdb -E UTF8 -T template0).",
    ),
    "57": _Why("the server ended the connection", "Check the server and its log, then try again."),
    "08": _Why("the connection was cut", "Check the server and its log, then try again."),
}
_PG_UNREACHABLE = _Why("the server can't be reached", "Check that it runs, and the host and port in the URL.")
_ADMITTED_ONCE = ("UNIQUE constraint failed: admissions.signal_id", "uq_admissions_admitted")
"""How SQLite and PostgreSQL name the rule that a second admission breaks."""

_TABLE_TAKEN = _Why(
    "it holds a table that has the name of one of groundwire's but is not its own",
    "Give groundwire a database (or, in PostgreSQL, a schema) of its own.",
)
_SCHEMA_DIFFERS = _Why(
    "its tables are not as groundwire made them", "Restore the database from a copy, or name another one."
)
_UNKNOWN_DO = "Look at the cause behind this error; if it is groundwire's fault, please report it."


def is_busy(error: BaseException) -> bool:
    """True where the same transaction may go through when it is tried again."""
    cause = _driver_error(error)
    if isinstance(cause, sqlite3.Error):
        # A virtual table reports the lock under another name, but the words stay.
        return _primary(cause) in _SQLITE_BUSY or "locked" in str(cause)
    if _is_connecting(cause):
        return any(words in str(cause) for words in _PG_BUSY_WORDS)
    return _sqlstate(cause) in _PG_BUSY


def is_cut_off(error: BaseException) -> bool:
    """True where the connection was lost, so that nothing can be said of a commit in flight."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _may_go_through(error: BaseException) -> bool:
    """True where the same work is worth another try."""
    return is_busy(error) or is_cut_off(error)


def explain(error: BaseException, doing: str, place: DatabaseLocation) -> StorageError:
    """The error to raise for a driver's or SQLAlchemy's.

    Args:
        error: what was raised.
        doing: what was being done (`write to`).
        place: the database.
    """
    where = place.shown
    if isinstance(error, PoolTimeout) or is_busy(error):
        return StorageBusy(
            f"Can't {doing} {where}: it stayed locked by other processes for longer than we wait.",
            do="Try again; if it stays so, find the process that keeps it locked, or use PostgreSQL for many writers.",
        )
    cause = _driver_error(error)
    if _broken_rule(cause) in _ADMITTED_ONCE:
        return admitted_already(where)
    why, do = _reason(cause)
    return StorageError(f"Can't {doing} {where}: {why}.", do=do)


def _broken_rule(cause: BaseException) -> str | None:
    if isinstance(cause, sqlite3.IntegrityError):
        return str(cause)
    return getattr(getattr(cause, "diag", None), "constraint_name", None)


def _reason(cause: BaseException) -> _Why:
    text = str(cause)
    if isinstance(cause, sqlite3.Error):
        if text.startswith("table ") and text.endswith("already exists"):
            return _TABLE_TAKEN
        if text.startswith(("no such table", "no such column", "table ")):
            return _SCHEMA_DIFFERS
        return _SQLITE.get(_primary(cause)) or _unknown(getattr(cause, "sqlite_errorname", ""))
    state = _sqlstate(cause)
    if state == "42P07":
        return _TABLE_TAKEN
    if state in ("42P01", "42703"):
        return _SCHEMA_DIFFERS
    if state:
        return _PG.get(state) or _PG.get(state[:2]) or _unknown(state)
    if not _is_connecting(cause):
        return _unknown(type(cause).__name__)
    for words, code in (("authentication failed", "28"), ("no password supplied", "28"), ("does not exist", "3D")):
        if words in text:
            return _PG[code]
    return _PG_UNREACHABLE


def _is_connecting(cause: BaseException) -> bool:
    """True for psycopg's errors while it connects: libpq passes on what the server said, but not its SQLSTATE."""
    return type(cause).__name__ == "OperationalError" and not _sqlstate(cause)


def _unknown(code: str) -> _Why:
    return _Why(f"the database reported {code or 'an error'}, which groundwire does not know", _UNKNOWN_DO)


def _driver_error(error: BaseException) -> BaseException:
    return error.orig if isinstance(error, DBAPIError) and error.orig else error


def _primary(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _sqlstate(error: BaseException) -> str:
    return getattr(error, "sqlstate", None) or ""


# One database, used from threads: opened at first use, each piece of work one transaction, retried while locked.

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

    def __init__(self, place: DatabaseLocation, *, connections: int, busy_s: float) -> None:
        self._place = place
        self._connections = connections
        self._lock_wait_s = min(_LOCK_WAIT_S, busy_s)
        self._retrying = Retrying(
            retry=retry_if_exception(_may_go_through),
            stop=stop_after_delay(busy_s),
            wait=wait_random_exponential(multiplier=0.01, max=0.5),
            reraise=True,
        )
        self._opening = threading.Lock()
        self._writing = threading.Lock()
        """Who writes to an SQLite file waits here, since the file has one writer at a time."""
        self._idle: Mapping[bool, deque[Connection]] = {True: deque(), False: deque()}
        """Connections to an SQLite file that nobody uses now: those that write, and those that read."""
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
        self._refuse_an_archive()
        return self._guarded("write to", lambda: self._once(work, writes=True))

    def alone(self, statements: Sequence[str]) -> None:
        """Runs statements each by itself, outside of any transaction: those that tidy up the whole database.

        Raises:
            StorageError: with the reason; those before it are done.
        """
        self._refuse_an_archive()
        self._guarded("tidy up", lambda: self._each(statements))

    def _refuse_an_archive(self) -> None:
        if self._place.archive is not None:
            raise StorageError(
                f"{self._place.shown} is an archive: it is read, and nothing is written to it.",
                do="Name a database with --db for what writes.",
            )

    def _each(self, statements: Sequence[str]) -> None:
        if self._engine is None:
            self._open()
        assert self._engine is not None
        self._let_go()
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
        with self._writing:
            self._let_go()
        if engine is not None:
            engine.dispose()

    def _once(self, work: Callable[[Connection], T], *, writes: bool) -> T:
        if self._engine is None:
            self._open()
        engine = self._writers if writes else self._readers
        assert engine is not None
        if self._place.file is not None:
            with self._writing if writes else nullcontext():
                return self._once_on_an_idle(self._idle[writes], engine, work, BEGIN[writes])
        with engine.connect() as connection, connection.begin() as transaction:
            result = work(connection)
            if writes:
                self._commit(transaction.commit)
        return result

    def _once_on_an_idle(
        self, idle: deque[Connection], engine: Engine, work: Callable[[Connection], T], begin: str
    ) -> T:
        """On a connection that is kept, in a transaction past SQLAlchemy: to check one out and in again, or to have
        SQLAlchemy begin and commit, costs as much as a small read or write."""
        connection = _one_of(idle) or engine.connect()
        try:
            cursor = cursor_of(connection)
            cursor.execute(begin)
            result = work(connection)
            if connection.in_transaction():  # it had SQLAlchemy run something, which has then joined
                connection.commit()
            else:
                cursor.execute("COMMIT")
        except BaseException:
            connection.close()  # which takes back what is not committed
            raise
        if self._engine is None:  # closed meanwhile
            connection.close()
        else:
            idle.append(connection)
        return result

    def _let_go(self) -> None:
        for idle in self._idle.values():
            while (connection := _one_of(idle)) is not None:
                connection.close()

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
            try:
                return work()
            except Exception as error:
                if not _may_go_through(error):
                    raise
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


def _one_of(idle: deque[Connection]) -> Connection | None:
    try:
        return idle.pop()
    except IndexError:  # another thread may have taken the last one
        return None
