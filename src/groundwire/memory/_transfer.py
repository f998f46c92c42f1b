"""Lessons as a file: JSON lines, each a reflection with the signal behind it and what was decided about it.

    {"format": "groundwire.lessons", "version": 1}
    {"reflection": {…}, "signal": {…}, "marks": [{…}]}

A signal travels byte for byte, seal included; whether the seal holds can only be told where the run's key is. What is
imported is somebody's text: it is shown to actors as data, and only where a FAIL comes with it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypeVar, cast, get_type_hints

from pydantic import ValidationError
from sqlalchemy import Connection

from groundwire.core._errors import ConfigError
from groundwire.core._records import LessonMark, Mark, Record, ReflectionRecord
from groundwire.core._signals import Signal, canonical
from groundwire.memory._lessons import Lessons
from groundwire.memory._policy import State
from groundwire.memory._sql import Sql
from groundwire.memory._sql_store import SqlStore
from groundwire.memory._text import unescape

FORMAT = "groundwire.lessons"
VERSION = 1
BATCH = 200
MAX_LINE_CHARS = 4_000_000

_OWNER = Sql("SELECT namespace FROM reflections WHERE id = :id")
_IDS = Sql(
    "SELECT id FROM lessons WHERE namespace = :namespace AND number > :last AND state IN ('active', 'quarantined')"
    " ORDER BY number LIMIT :limit"
)
_NUMBER = Sql("SELECT number FROM lessons WHERE id = :id")

T = TypeVar("T")


@dataclass(frozen=True)
class Imported:
    """What came of an import.

    Args:
        read: lessons in the file.
        known: of these, those that were there already.
        unbacked: of these, those without a signal that says FAIL: kept in the ledger, never recalled.
    """

    read: int
    known: int
    unbacked: int


async def export_lessons(store: SqlStore) -> AsyncIterator[str]:
    """Lines of a file with all lessons that are or could be recalled, oldest first."""
    yield canonical({"format": FORMAT, "version": VERSION})
    lessons, last = Lessons(store), -1
    while True:
        ids = await store.run_read(
            lambda session, last=last: _IDS.rows(session, namespace=store.namespace, last=last, limit=BATCH)
        )
        if not ids:
            return
        for (lesson_id,) in ids:
            view = await lessons.show(unescape(lesson_id), recalls=0)
            yield canonical(
                {
                    "reflection": asdict(view.info.reflection),
                    "signal": json.loads(view.signal.to_json()) if view.signal else None,
                    "marks": [asdict(mark) for mark in view.marks],
                }
            )
        newest = unescape(ids[-1][0])
        last = await store.run_read(lambda session, newest=newest: _NUMBER.rows(session, id=newest)[0][0])


async def import_lessons(store: SqlStore, lines: Iterable[str]) -> Imported:
    """Writes the lessons of a file; those that are there already change nothing.

    A lesson that another namespace of the database has gets an id of its own here.

    Raises:
        ConfigError: a line is not a lesson. Some of those before it may be written; importing again writes none twice.
    """
    read = 0
    numbered = enumerate(lines, 1)
    _check_head(next(numbered, (1, ""))[1])
    before = await _count(store)
    batch: list[Record] = []
    for number, line in numbered:
        if not line.strip():
            continue
        batch += await _records(store, line, number)
        read += 1
        if len(batch) >= BATCH:
            await store.append(*batch)
            batch = []
    await store.append(*batch)
    after = await _count(store)
    added = sum(after.values()) - sum(before.values())
    return Imported(read, read - added, after.get(State.UNBACKED, 0) - before.get(State.UNBACKED, 0))


async def _count(store: SqlStore) -> Mapping[State, int]:
    return await Lessons(store).states()


def _check_head(line: str) -> None:
    try:
        head: Any = json.loads(line)
        right = head["format"] == FORMAT and head["version"] == VERSION
    except (ValueError, TypeError, KeyError, RecursionError):
        right = False
    if not right:
        raise ConfigError(
            f"The first line does not say that these are lessons ({FORMAT}, version {VERSION}).",
            do="Give a file that `groundwire memory export` wrote.",
        )


async def _records(store: SqlStore, line: str, number: int) -> list[Record]:
    if len(line) > MAX_LINE_CHARS:
        raise _wrong(number, f"it is longer than {MAX_LINE_CHARS} characters")
    try:
        data: Any = json.loads(line)
        reflection = _read(ReflectionRecord, data["reflection"])
        signal = Signal.from_json(json.dumps(data["signal"])) if data.get("signal") else None
        marks = [_read(LessonMark, mark) for mark in data.get("marks", ())]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ValidationError) as error:
        raise _wrong(number, str(error).splitlines()[0][:200]) from error
    if signal is not None and signal.id != reflection.signal_id:
        raise _wrong(number, "its signal is another one than its reflection names")
    lesson_id, is_known = await _place(store, reflection.id)
    kept = [
        replace(mark, lesson_id=lesson_id)
        for mark in marks
        if mark.lesson_id == reflection.id and mark.mark is not Mark.FORGOTTEN and not is_known
    ]
    return [*([signal] if signal else []), replace(reflection, id=lesson_id), *kept]


async def _place(store: SqlStore, lesson_id: str) -> tuple[str, bool]:
    """The id that a lesson has in this namespace, and whether it is there already."""

    def owner(session: Connection, of: str) -> str | None:
        rows = _OWNER.rows(session, id=of)
        return unescape(rows[0][0]) if rows else None

    def work(session: Connection) -> tuple[str, bool]:
        found = owner(session, lesson_id)
        if found in (None, store.namespace):
            return lesson_id, found is not None
        own = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{store.namespace}/{lesson_id}"))
        return own, owner(session, own) is not None

    return await store.run_read(work)


def _read(kind: type[T], data: object) -> T:
    """A record from JSON; fields that this version does not know are refused, those that it lacks have defaults."""
    if not isinstance(data, dict):
        raise TypeError(f"{kind.__name__} is not an object")
    values = dict(cast("dict[str, Any]", data))
    hints = get_type_hints(kind)
    for field in fields(cast("Any", kind)):
        if field.name in values:
            values[field.name] = _typed(values[field.name], hints[field.name], field.name)
    return kind(**values)


def _typed(value: Any, wanted: Any, name: str) -> Any:
    if wanted == tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[object]", value)):
            raise TypeError(f"{name} is not a list of texts")
        return tuple(cast("list[str]", value))
    if wanted is Mark:
        return Mark(value)
    if type(value) is not wanted:
        raise TypeError(f"{name} is not of the type {wanted.__name__}")
    return value


def _wrong(number: int, why: str) -> ConfigError:
    return ConfigError(
        f"Line {number} is not a lesson: {why}.", do="Give a file that `groundwire memory export` wrote."
    )
