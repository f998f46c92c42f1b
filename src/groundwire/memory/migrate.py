"""Brings a database to this version's schema when it is opened, under a lock, so that many may open it at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, inspect, text

from groundwire.errors import StorageError
from groundwire.memory.engine import WRITES
from groundwire.memory.place import Place

if TYPE_CHECKING:
    from alembic.config import Config

__all__ = ["HEAD", "VERSION_TABLE", "config", "current", "upgrade"]

HEAD = "0005"
"""The newest revision in `migrations/versions`; kept here so that opening a current database needs no Alembic."""

VERSION_TABLE = "groundwire_schema"
"""Where the schema's revision is kept; a name of our own, since a database may be shared with other Alembic users."""

_LOCK = 0x67726F756E64
"""Key of the advisory lock on PostgreSQL."""


def upgrade(engine: Engine, place: Place) -> None:
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


def _run(connection: Connection, place: Place) -> None:
    from alembic import command
    from alembic.script import ScriptDirectory

    from groundwire.memory.derive import rebuild

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
