"""What the durable store does with a database, in the thread that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Row

from groundwire.contexts import EditCounts, EditStatistics, Lesson
from groundwire.memory.database import Database
from groundwire.memory.mapping import CODECS, Codec, codec_of, strings_out
from groundwire.memory.policy import RECALL_SCAN, Picker, edit_counts, lesson_of
from groundwire.memory.statements import (
    EDITS,
    EDITS_OF_FAMILY,
    EDITS_OF_SIGNATURE,
    EPISODE_RECORDS,
    LESSONS_OF_FAMILY,
    LESSONS_OF_TASK,
    Query,
    inserts_for,
)
from groundwire.memory.text import escape
from groundwire.records import Record, ReflectionRecord

__all__ = ["append", "edit_statistics", "recall", "records_of", "rows_of"]

R = TypeVar("R")


def append(database: Database, records: Sequence[Record]) -> None:
    """Writes records in one transaction, numbered in their order."""
    # Encoded before the transaction: a large signal must not keep other processes from writing.
    rows: dict[type[Any], list[tuple[int, tuple[Any, ...]]]] = {}
    for place, record in enumerate(records):
        rows.setdefault(type(record), []).append((place, codec_of(record).encode(record)))

    def work(session: Connection) -> None:
        inserts = inserts_for(session.dialect)
        numbers = inserts.number(session, len(records))
        for kind, encoded in rows.items():
            inserts.insert(session, kind, [(numbers[place], *row) for place, row in encoded])

    database.write(work)


def rows_of(database: Database, query: Query, values: Mapping[str, Any], kind: type[R]) -> list[R]:
    """The records of one class that a query finds; texts among `values` are escaped as they were when written."""
    escaped = {name: escape(value) if isinstance(value, str) else value for name, value in values.items()}
    rows = database.read(lambda session: session.execute(query, escaped).all())
    return [_decoded(row, kind) for row in rows]


def records_of(database: Database, episode_id: str) -> list[Record]:
    """All of an episode's records, in the order they were written."""
    values = {"episode_id": escape(episode_id)}

    def work(session: Connection) -> list[tuple[int, Codec, Row[*tuple[Any, ...]]]]:
        return [(row[0], codec, row) for codec, query in EPISODE_RECORDS for row in session.execute(query, values)]

    found = sorted(database.read(work), key=lambda item: item[0])
    return [codec.decode(row[1:]) for _, codec, row in found]


def recall(database: Database, task_id: str, family: str, window: int) -> list[Lesson]:
    """The task's lessons, newest first, then its family's."""
    values = {"task_id": escape(task_id), "family": escape(family)}

    def work(session: Connection) -> list[ReflectionRecord]:
        picker = Picker(window)
        _pick(session, LESSONS_OF_TASK, values, picker)
        if family:
            _pick(session, LESSONS_OF_FAMILY, values, picker)
        return picker.picked

    return [lesson_of(reflection) for reflection in database.read(work)]


def _pick(session: Connection, query: Query, values: Mapping[str, str], picker: Picker) -> None:
    start = 0
    # Repeated texts are rare, so the first few rows nearly always do; the rest is read only where they did not.
    for stop in (min(2 * picker.window, RECALL_SCAN), RECALL_SCAN):
        if picker.full or stop <= start:
            return
        limit = stop - start
        rows = session.execute(query, {**values, "limit": limit, "offset": start}).all()
        picker.offer(_decoded(row, ReflectionRecord) for row in rows)
        if len(rows) < limit:
            return
        start = stop


def edit_statistics(database: Database, family: str, signature: str) -> EditStatistics:
    """Per circle and edit name: candidates that used it, candidates of these that passed."""

    def work(session: Connection) -> EditStatistics:
        def counts(query: Query, **values: str) -> EditCounts:
            rows = session.execute(query, {name: escape(value) for name, value in values.items()})
            return edit_counts((strings_out(edits), int(used), int(passed)) for edits, used, passed in rows)

        return EditStatistics(
            alike=counts(EDITS_OF_SIGNATURE, signature=signature) if signature else {},
            family=counts(EDITS_OF_FAMILY, family=family) if family else {},
            overall=counts(EDITS),
        )

    return database.read(work)


def _decoded(row: Row[*tuple[Any, ...]], kind: type[R]) -> R:
    return cast("R", CODECS[kind].decode(row[1:]))
