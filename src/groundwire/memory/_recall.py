"""Recall from a database: bounded windows over indexes, ranked by `groundwire.memory._ranking`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from groundwire.core._contexts import Lesson
from groundwire.core._records import ReflectionRecord
from groundwire.memory._mapping import CODECS, names_of, strings_out
from groundwire.memory._policy import RECALL_SCAN, lesson_of
from groundwire.memory._ranking import Chooser, RankedLesson, RecallQuery, as_websearch, rank_family, rank_texts
from groundwire.memory._sql import Sql
from groundwire.memory._text import unescape
from groundwire.memory._usefulness import Standing

ByMeaning = Callable[[Connection, Sequence[int]], Sequence[int]]
"""Orders numbers of lessons by how near their meaning is to the question's; those without a vector are left out."""

OF_SIGNATURE = "l.family = :family AND l.signature = :signature AND l.task_id <> :task_id"
OF_FAMILY = "l.family = :family AND l.task_id <> :task_id"
"""Which lessons of a family may come back, in SQL."""

_COLUMNS = 'l.number, l.id, l.root, l.task_id, r."text", l.fresh, r.frames, l.trials, l.passed, l.expected, l.signature'


def no_meaning(_session: Connection, _numbers: Sequence[int]) -> Sequence[int]:
    """Without an embedding model, words alone are compared."""
    return ()


def _pool(condition: str) -> Sql:
    newest = (
        f"SELECT {_COLUMNS}, %s FROM lessons l JOIN reflections r ON r.seq = l.number"
        f" WHERE l.namespace = :namespace AND l.state = 'active' AND {condition} ORDER BY l.fresh DESC LIMIT :limit"
    )
    rank = "ts_rank(r.words, websearch_to_tsquery('english', :query))"
    return Sql(newest % rank, sqlite=newest % "0")


_OF_TASK = _pool("l.task_id = :task_id")
_OF_SIGNATURE = _pool(OF_SIGNATURE)
_OF_FAMILY = _pool(OF_FAMILY)
_CODEC = CODECS[ReflectionRecord]
_CHOSEN = Sql(
    f"SELECT seq, {names_of(_CODEC)} FROM reflections WHERE seq = ANY(:numbers)",
    sqlite=f"SELECT seq, {names_of(_CODEC)} FROM reflections WHERE seq IN (SELECT value FROM json_each(:numbers))",
)


@dataclass(frozen=True)
class _Pool:
    """The newest lessons of one key.

    Args:
        candidates: newest first.
        by_words: numbers of those that share words with the question, best first.
    """

    candidates: Sequence[RankedLesson]
    signatures: Sequence[str]
    by_words: Sequence[int]


def recall(session: Connection, namespace: str, question: RecallQuery, by_meaning: ByMeaning) -> list[Lesson]:
    """See `groundwire.core._records.Store.recall`."""
    chooser = Chooser(question)
    own = _read(session, _OF_TASK, namespace, question)
    if question.signature:
        alike = (c for c, kind in zip(own.candidates, own.signatures, strict=True) if kind == question.signature)
        chooser.offer(alike, lambda _: "signature+task")
        if question.family and not chooser.full:
            _offer_family(session, chooser, _OF_SIGNATURE, "signature+family", namespace, question, by_meaning)
    chooser.offer(own.candidates, lambda _: "task")
    if question.family and not chooser.full:
        _offer_family(session, chooser, _OF_FAMILY, "family", namespace, question, by_meaning)
    reflections = _reflections(session, [chosen.number for chosen in chooser.chosen])
    return [lesson_of(reflections[c.number], c.why) for c in chooser.chosen]


def _offer_family(
    session: Connection,
    chooser: Chooser,
    query: Sql,
    tier: str,
    namespace: str,
    question: RecallQuery,
    by_meaning: ByMeaning,
) -> None:
    pool = _read(session, query, namespace, question)
    meaning = by_meaning(session, [c.number for c in pool.candidates])
    ordered, why = rank_family(pool.candidates, question, pool.by_words, meaning)
    chooser.offer(ordered, lambda candidate: f"{tier}: {why(candidate)}")


def _read(session: Connection, query: Sql, namespace: str, question: RecallQuery) -> _Pool:
    rows = query.rows(
        session,
        namespace=namespace,
        task_id=question.task_id,
        family=question.family,
        signature=question.signature,
        query=as_websearch(question.terms),
        limit=RECALL_SCAN,
    )
    candidates = [_candidate(row, with_frames=bool(question.frames)) for row in rows]
    if session.dialect.name == "sqlite":
        wanted = question.terms if query is not _OF_TASK else ()
        by_words = rank_texts({c.number: c.text for c in candidates}, wanted)
    else:
        by_words = [row[0] for row in sorted(rows, key=lambda row: (-row[11], -row[0])) if row[11] > 0]
    return _Pool(candidates, [unescape(row[10]) for row in rows], by_words)


def _candidate(row: Sequence[Any], *, with_frames: bool) -> RankedLesson:
    number, lesson_id, root, task_id, text, fresh, frames, trials, passed, expected = row[:10]
    return RankedLesson(
        number=number,
        id=unescape(lesson_id),
        root=unescape(root),
        task_id=unescape(task_id),
        text=unescape(text),
        fresh=fresh,
        frames=strings_out(frames) if with_frames and frames != "[]" else (),
        standing=Standing(trials, passed, expected),
    )


def _reflections(session: Connection, numbers: Sequence[int]) -> dict[int, ReflectionRecord]:
    if not numbers:
        return {}
    wanted: Any = json.dumps(numbers) if session.dialect.name == "sqlite" else list(numbers)
    found: dict[int, ReflectionRecord] = {}
    for row in _CHOSEN.rows(session, numbers=wanted):
        record = _CODEC.decode(row[1:])
        assert isinstance(record, ReflectionRecord)
        found[row[0]] = record
    return found
