"""A SQLAlchemy engine set up so that many processes can write: pragmas, transactions, pool."""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import StaticPool

from groundwire.memory.place import Place

__all__ = ["WRITES", "open_engine"]

WRITES = "groundwire_writes"
"""Execution option of connections that will write."""

_CONNECT_S = 10
"""Seconds to wait for a PostgreSQL server that does not answer."""


def open_engine(place: Place, *, connections: int, lock_wait_s: float) -> Engine:
    """An engine; nothing is connected yet.

    Args:
        place: the database.
        connections: the most that are open at once.
        lock_wait_s: seconds that the database itself waits for a lock before it reports one.
    """
    if place.is_sqlite:
        return _sqlite(place, connections, lock_wait_s)
    return _postgres(place, connections, lock_wait_s)


def _sqlite(place: Place, connections: int, lock_wait_s: float) -> Engine:
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
        writes = connection.get_execution_options().get(WRITES)
        connection.connection.cursor().execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgres(place: Place, connections: int, lock_wait_s: float) -> Engine:
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
