"""A SQLAlchemy engine that many processes can write through, and the schema brought up to date when it is opened."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.pool import StaticPool

from groundwire.core._errors import StorageError
from groundwire.memory._place import DatabaseLocation

if TYPE_CHECKING:
    from alembic.config import Config


# A SQLAlchemy engine set up so that many processes can write: pragmas, transactions, pool.

WRITES = "groundwire_writes"
"""Execution option of connections that will write."""

BEGIN = {True: "BEGIN IMMEDIATE", False: "BEGIN"}
"""How a transaction begins on SQLite, by whether it writes: one that reads first and then writes fails under load."""

_CONNECT_S = 10
"""Seconds to wait for a PostgreSQL server that does not answer."""


def open_engine(place: DatabaseLocation, *, connections: int, lock_wait_s: float) -> Engine:
    """An engine; nothing is connected yet.

    Args:
        place: the database.
        connections: the most that are open at once.
        lock_wait_s: seconds that the database itself waits for a lock before it reports one.
    """
    if place.is_sqlite:
        return _sqlite(place, connections, lock_wait_s)
    return _postgres(place, connections, lock_wait_s)


def _sqlite(place: DatabaseLocation, connections: int, lock_wait_s: float) -> Engine:
    pool: dict[str, Any] = {"pool_size": connections, "max_overflow": 0} if place.file else {"poolclass": StaticPool}
    engine = create_engine(
        place.url, hide_parameters=True, connect_args={"check_same_thread": False, "timeout": lock_wait_s}, **pool
    )

    @event.listens_for(engine, "connect")
    def on_connect(connection: sqlite3.Connection, _record: object) -> None:  # pyright: ignore[reportUnusedFunction]
        # The driver would begin transactions by its own rules, deferred: read-then-write then fails under load.
        connection.isolation_level = None
        try:
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA wal_autocheckpoint=1000")
            if connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete":
                connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.Error:
            connection.close()
            raise

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:  # pyright: ignore[reportUnusedFunction]
        driver: Any = connection.connection.driver_connection
        if not driver.in_transaction:  # else `Database` has begun one
            driver.execute(BEGIN[bool(connection.get_execution_options().get(WRITES))])

    return engine


def _postgres(place: DatabaseLocation, connections: int, lock_wait_s: float) -> Engine:
    options = place.url.query.get("options", "")
    settings: dict[str, Any] = {"connect_timeout": _CONNECT_S, "application_name": "groundwire"}
    settings = {name: value for name, value in settings.items() if name not in place.url.query}
    settings["options"] = f"{options} -c lock_timeout={int(lock_wait_s * 1000)}".lstrip()
    return create_engine(
        place.url,
        hide_parameters=True,
        # Positional parameters: the ledger's own statements are compiled once and sent with plain tuples.
        paramstyle="format",
        pool_size=connections,
        max_overflow=0,
        connect_args=settings,
    )


# Brings a database to this version's schema when it is opened, under a lock, so that many may open it at once.

HEAD = "0006"
"""The newest revision in `migrations/versions`; kept here so that opening a current database needs no Alembic."""

VERSION_TABLE = "groundwire_schema"
"""Where the schema's revision is kept; a name of our own, since a database may be shared with other Alembic users."""

_LOCK = 0x67726F756E64
"""Key of the advisory lock on PostgreSQL."""


def upgrade(engine: Engine, place: DatabaseLocation) -> None:
    """Creates or upgrades the tables where they are older than this code.

    Raises:
        StorageError: the database was written by a newer groundwire.
    """
    with engine.connect() as connection:
        if current(connection) == HEAD:
            return
    with engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
        if not place.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        # Another process may have been faster; only now that the lock is ours, what is read stays true.
        if current(connection) != HEAD:
            _run(connection, place)


def current(connection: Connection) -> str | None:
    """The database's revision; None where groundwire never wrote to it."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()


def config(connection: Connection) -> Config:
    """Alembic's configuration for one connection: nothing is read from the user's folder."""
    from alembic.config import Config

    made = Config(attributes={"connection": connection})
    folder = Path(__file__).parent / "migrations"
    made.set_main_option("script_location", str(folder).replace("%", "%%"))
    return made


def _run(connection: Connection, place: DatabaseLocation) -> None:
    from alembic import command
    from alembic.script import ScriptDirectory

    from groundwire.memory._derive import rebuild

    settings = config(connection)
    known = {script.revision for script in ScriptDirectory.from_config(settings).walk_revisions()}
    found = current(connection)
    if found is not None and found not in known:
        raise StorageError(
            f"Can't open {place.shown}: a newer groundwire wrote it (its schema is {found}, this one knows {HEAD}).",
            do="Upgrade groundwire (pip install -U groundwire), or name another database.",
        )
    command.upgrade(settings, HEAD)
    if found is not None:
        # what an older version had concluded, or had not yet, is made again by today's rules
        rebuild(connection)
