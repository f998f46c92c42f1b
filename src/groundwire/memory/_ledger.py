"""What the durable store does with a database, in the thread that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import itemgetter
from typing import Any, TypeVar, cast

from sqlalchemy import Connection

from groundwire.core._contexts import EditCounts, EditStatistics, Lesson
from groundwire.core._errors import LeaseLost, StorageError
from groundwire.core._masking import Masker
from groundwire.core._records import Artifact, LessonMark, OpenLink, Record, ReflectionRecord, TrialEnd
from groundwire.memory import _derive as derive
from groundwire.memory._bodies import BodyOf, shortened, whole
from groundwire.memory._campaigns import Lease, check_leases
from groundwire.memory._database import Database
from groundwire.memory._mapping import CANDIDATE, CODECS, Codec, codec_of, covered, masked, names_of, texts_in
from groundwire.memory._policy import Scope, lesson_of
from groundwire.memory._sql import Sql
from groundwire.memory._statements import (
    EPISODE_RECORDS,
    NAMED,
    OWNERS,
    Inserts,
    body_in,
    episode_column,
    inserts_for,
    one_of,
)
from groundwire.memory._text import escape, unescape

R = TypeVar("R")


def append_each(
    database: Database, namespace: str, groups: Sequence[Sequence[Record]], leases: Sequence[Lease | None]
) -> Sequence[BaseException | None]:
    """Writes groups of records, each as a whole or not at all, and what memory concludes from them.

    All go into one transaction; where one of them can't be kept, each gets a transaction of its own. Records are
    numbered in their order. A group that is written under a lease is refused where that is lost.

    Returns:
        For each group why nothing of it was written; None where it is kept.
    """
    # Masked and encoded before the transaction: a large signal must not keep other processes from writing.
    masker = Masker()
    ready = [_encoded(records, masker, lambda key: _body_of(database, key)) for records in groups]
    trouble = _tried(
        database, namespace, leases, list(chain(*(kept for kept, _ in ready))), list(chain(*(r for _, r in ready)))
    )
    if trouble is None or len(groups) == 1 or not _is_one_records_fault(trouble):
        return [trouble] * len(groups)
    return [_tried(database, namespace, [lease], *group) for lease, group in zip(leases, ready, strict=True)]


def artifact_of(database: Database, digest: str) -> bytes | None:
    """An artifact's body, whole; None where there is none.

    Raises:
        StorageError: what it is told from is gone.
    """

    def work(session: Connection) -> bytes | None:
        kept = body_in(session, digest)
        return None if kept is None else whole(kept, lambda key: body_in(session, key))

    return database.read(work)


def _body_of(database: Database, key: str) -> bytes | None:
    return database.read(lambda session: body_in(session, key))


def _encoded(group: Sequence[Record], masker: Masker, body_of: BodyOf) -> tuple[list[Record], list[tuple[Any, ...]]]:
    """The records of one append as they are kept, and their rows; an open link is closed over these."""
    given = [record for record in group if not isinstance(record, OpenLink)]
    # one look at all texts of all records: as a rule there is no secret in any
    encoded = [codec_of(record).encode(record) for record in given]
    is_clean = masker.finds_none(chain.from_iterable(map(texts_in, given, encoded)))
    records: list[Record] = []
    rows: list[tuple[Any, ...]] = []
    for record, row in zip(given, encoded, strict=True):
        safe = record if is_clean else masked(record, masker)
        if safe is None:
            continue
        if isinstance(safe, Artifact) and safe.kind == CANDIDATE:
            safe = replace(safe, body=shortened(safe.body, body_of))
        records.append(safe)
        rows.append(row if safe is record else codec_of(safe).encode(safe))
    for link in group:
        if isinstance(link, OpenLink):
            closed = link.close([covered(codec_of(one), row) for one, row in zip(records, rows, strict=True)])
            records.append(closed)
            rows.append(codec_of(closed).encode(closed))
    return records, rows


def _tried(
    database: Database,
    namespace: str,
    leases: Sequence[Lease | None],
    records: Sequence[Record],
    rows: Sequence[tuple[Any, ...]],
) -> Exception | None:
    def work(session: Connection) -> None:
        check_leases(session, leases)
        _write(session, namespace, records, rows)

    try:
        if records:
            database.write(work)
    except Exception as trouble:
        return trouble
    return None


def _is_one_records_fault(trouble: Exception) -> bool:
    """True where the others can be kept without it: not where the database is locked, full, gone or cut off."""
    if not isinstance(trouble, StorageError) or isinstance(trouble, LeaseLost):
        return True
    # by name: SQLAlchemy's, or the driver's own, which PEP 249 names alike
    return bool({"DataError", "IntegrityError"} & {kind.__name__ for kind in type(trouble.__cause__).__mro__})


def _write(session: Connection, namespace: str, records: Sequence[Record], rows: Sequence[tuple[Any, ...]]) -> None:
    inserts = inserts_for(session.dialect)
    numbers = inserts.number(session, len(records))
    by_kind: dict[type[Any], list[tuple[Any, ...]]] = {}
    ends: list[tuple[int, TrialEnd]] = []
    reflections: list[tuple[int, ReflectionRecord]] = []
    for number, record, row in zip(numbers, records, rows, strict=True):
        if isinstance(record, ReflectionRecord) and derive.is_forgotten(session, namespace, record):
            continue
        stamped = (number, *row, escape(namespace)) if codec_of(record) in NAMED else (number, *row)
        if not isinstance(record, TrialEnd):
            by_kind.setdefault(type(record), []).append(stamped)
            if isinstance(record, ReflectionRecord):
                reflections.append((number, record))
        elif inserts.insert_new(session, TrialEnd, stamped):
            ends.append((number, record))
    for kind, values in by_kind.items():
        inserts.insert(session, kind, values)
    if reflections:
        derive.learn(session, namespace, reflections)
    if LessonMark in by_kind:
        derive.decide(session, namespace, [r for r in records if isinstance(r, LessonMark)])
    if ends:
        _conclude(session, inserts, namespace, derive.settle(session, ends))


def _conclude(session: Connection, inserts: Inserts, namespace: str, marks: Sequence[LessonMark]) -> None:
    if marks:
        codec = CODECS[LessonMark]
        numbers = inserts.number(session, len(marks))
        rows = [(n, *codec.encode(mark), escape(namespace)) for n, mark in zip(numbers, marks, strict=True)]
        inserts.insert(session, LessonMark, rows)
        derive.decide(session, namespace, marks)


def rows_of(database: Database, query: Sql, values: Mapping[str, Any], kind: type[R]) -> list[R]:
    """The records of one class that a query finds."""
    rows = database.read(lambda session: query.rows(session, **values))
    return [cast("R", CODECS[kind].decode(row[1:])) for row in rows]


def records_of_each(database: Database, namespace: str, episode_ids: Sequence[str]) -> list[list[Record]]:
    """All records of each of a few episodes, in the order they were written; none where it is another namespace's."""
    asked = one_of(episode_ids)

    def work(session: Connection) -> dict[str, list[tuple[int, Codec, Sequence[Any]]]]:
        of_others = {id for id, owner in OWNERS.rows(session, **asked) if owner != escape(namespace)}
        found: dict[str, list[tuple[int, Codec, Sequence[Any]]]] = {}
        for codec, query in EPISODE_RECORDS:
            place = 1 + codec.columns.index(episode_column(codec))
            for row in query.rows(session, **asked):
                if row[place] not in of_others:
                    found.setdefault(row[place], []).append((row[0], codec, row))
        return found

    found = database.read(work)
    ordered = (sorted(found.get(escape(id), ()), key=itemgetter(0)) for id in episode_ids)
    return [[codec.decode(row[1:]) for _, codec, row in rows] for rows in ordered]


_REFLECTIONS = CODECS[ReflectionRecord]
_BY_ID = Sql(f"SELECT {names_of(_REFLECTIONS)} FROM reflections WHERE id = :id AND namespace = :namespace")


def lessons_of(database: Database, namespace: str, ids: Sequence[str]) -> list[Lesson]:
    """The lessons of these ids, in their order, as far as they are there."""

    def work(session: Connection) -> list[Lesson]:
        rows = [row for lesson_id in ids for row in _BY_ID.rows(session, id=lesson_id, namespace=namespace)]
        return [lesson_of(cast("ReflectionRecord", _REFLECTIONS.decode(row))) for row in rows]

    return database.read(work)


_EDITS = Sql(
    "SELECT edit, used, passed FROM edit_rates WHERE namespace = :namespace AND scope = :scope AND key = :key"
    " ORDER BY edit"
)


def edit_statistics(database: Database, namespace: str, family: str, signature: str) -> EditStatistics:
    """Per circle and edit name: candidates that used it, candidates of these that passed."""

    def work(session: Connection) -> EditStatistics:
        def counts(scope: Scope, key: str) -> EditCounts:
            rows = _EDITS.rows(session, namespace=namespace, scope=scope.value, key=key)
            return {unescape(edit): (used, passed) for edit, used, passed in rows}

        return EditStatistics(
            alike=counts(Scope.SIGNATURE, signature) if signature else {},
            family=counts(Scope.FAMILY, family) if family else {},
            overall=counts(Scope.ALL, ""),
        )

    return database.read(work)
