"""Statements of the hot path: written once for both databases, compiled once, run in the driver's own form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, text

from groundwire.memory._text import escape

if TYPE_CHECKING:
    import sqlite3

_CURSOR = "groundwire_cursor"


def cursor_of(session: Connection) -> sqlite3.Cursor:
    """The cursor that a connection to SQLite keeps for all statements whose rows are taken at once."""
    cursor: Any = session.info.get(_CURSOR)
    if cursor is None:
        cursor = session.info[_CURSOR] = session.connection.cursor()
    return cursor


class Sql:
    """One statement with named parameters (`:name`).

    SQLite gets it past SQLAlchemy: it answers in microseconds, and SQLAlchemy's part would cost more than the query.
    Texts among the values are escaped as they were when they were written.

    Args:
        statement: SQL that both databases read alike.
        sqlite: instead of it on SQLite, where they do not.
    """

    def __init__(self, statement: str, *, sqlite: str = "") -> None:
        self._texts = {"postgresql": statement, "sqlite": sqlite or statement}
        self._compiled: dict[str, tuple[str, Sequence[str]]] = {}

    def rows(self, session: Connection, **values: Any) -> Sequence[Sequence[Any]]:
        """Runs it; the rows that it gives."""
        name, statement, parameters = self._prepared(session, values)
        if name == "sqlite":
            return cursor_of(session).execute(statement, parameters).fetchall()
        return session.exec_driver_sql(statement, parameters).all()

    def change(self, session: Connection, **values: Any) -> int:
        """Runs it; how many rows it changed."""
        name, statement, parameters = self._prepared(session, values)
        if name == "sqlite":
            return cursor_of(session).execute(statement, parameters).rowcount
        return session.exec_driver_sql(statement, parameters).rowcount

    def change_each(self, session: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Runs it once for each row, in one go to the server; without rows not at all."""
        if not rows:
            return
        prepared = [self._prepared(session, values) for values in rows]
        name, statement, _ = prepared[0]
        parameters = [each for _, _, each in prepared]
        if name == "sqlite":
            cursor_of(session).executemany(statement, parameters)
        else:
            session.exec_driver_sql(statement, parameters)

    def _prepared(self, session: Connection, values: Mapping[str, Any]) -> tuple[str, str, tuple[Any, ...]]:
        name = session.dialect.name
        if name not in self._compiled:
            compiled = text(self._texts[name]).compile(dialect=session.dialect)
            self._compiled[name] = (str(compiled), tuple(compiled.positiontup or ()))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]  # of SQLCompiler, not of its base
        statement, names = self._compiled[name]
        given = [values[each] for each in names]
        return name, statement, tuple([escape(value) if isinstance(value, str) else value for value in given])
