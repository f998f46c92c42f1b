"""What people do with the lessons of a durable store: look at them, search them, decide about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from groundwire.core._errors import RecordNotFound
from groundwire.core._records import LessonMark, Mark, ReflectionRecord
from groundwire.core._signals import Signal, Verdict
from groundwire.memory._mapping import CODECS, names_of
from groundwire.memory._policy import State
from groundwire.memory._ranking import as_fts5, as_websearch, rank_texts, terms_of
from groundwire.memory._sql import Sql
from groundwire.memory._sql_store import SqlStore
from groundwire.memory._text import escape, unescape
from groundwire.memory._usefulness import Standing

FOUND_SCAN = 200
"""Newest lessons with the words of a search that are ranked; ranking all of a large ledger would take a second."""

_REFLECTION = CODECS[ReflectionRecord]
_COLUMNS = ", ".join(f"r.{name}" for name in names_of(_REFLECTION).split(", "))
_INFO = f"l.number, l.state, l.root, l.trials, l.passed, l.expected, {_COLUMNS}"
_FROM = "FROM lessons l JOIN reflections r ON r.seq = l.number WHERE l.namespace = :namespace"
_FILTER = (
    " AND (:family = '' OR l.family = :family) AND (:task_id = '' OR l.task_id = :task_id)"
    " AND (:state = '' OR l.state = :state)"
)
_LIST = Sql(f"SELECT {_INFO} {_FROM}{_FILTER} ORDER BY l.number DESC LIMIT :limit")
_SEARCH = Sql(
    f"SELECT {_INFO} {_FROM}{_FILTER} AND r.words @@ websearch_to_tsquery('english', :query)"
    " ORDER BY l.number DESC LIMIT :limit",
    sqlite=f"SELECT {_INFO} FROM lesson_words w JOIN lessons l ON l.number = w.rowid JOIN reflections r"
    f" ON r.seq = l.number WHERE lesson_words MATCH :query AND l.namespace = :namespace{_FILTER}"
    " ORDER BY w.rowid DESC LIMIT :limit",
)
_BEGINS = Sql(
    "SELECT id FROM lessons WHERE namespace = :namespace AND substr(id, 1, :length) = :prefix ORDER BY id LIMIT 2"
)
_ONE = Sql(f"SELECT {_INFO} {_FROM} AND l.id = :id")
_SAME = Sql("SELECT id FROM lessons WHERE namespace = :namespace AND root = :root ORDER BY number")
_SIGNAL = Sql("SELECT body FROM signals WHERE id = :id")
_RECALLS = Sql(
    "SELECT c.episode_id, c.trial, c.rank, c.why, c.created_at, coalesce(t.verdict, '') FROM recalls c"
    " LEFT JOIN trial_ends t ON t.episode_id = c.episode_id AND t.trial = c.trial"
    " WHERE c.lesson_id = :id AND NOT EXISTS (SELECT 1 FROM episodes e WHERE e.id = c.episode_id AND"
    " e.namespace <> :namespace) ORDER BY c.seq DESC LIMIT :limit"
)
_MARKS = Sql(
    f"SELECT {names_of(CODECS[LessonMark])} FROM lesson_marks WHERE namespace = :namespace AND lesson_id = :id"
    " ORDER BY seq"
)
_STATES = Sql("SELECT state, count(*) FROM lessons WHERE namespace = :namespace GROUP BY state ORDER BY state")
_RATES = Sql(
    "SELECT key, trials, passed FROM rates WHERE namespace = :namespace AND scope = :scope"
    " ORDER BY trials DESC, key LIMIT :limit"
)
_MEASURED = Sql(
    f"SELECT {_INFO} {_FROM} AND l.trials > 0 ORDER BY (l.passed - l.expected) / (l.trials + 4.0) DESC, l.number"
    " LIMIT :limit"
)
_ANY = {"family": "", "task_id": "", "state": ""}


@dataclass(frozen=True)
class LessonInfo:
    """A reflection with what memory holds of it.

    Args:
        reflection: as it was written.
        state: whether it is recalled, or why not.
        root: id of the first lesson that says the same; its own where it is the first.
        standing: what it did for the trials that it was recalled for.
    """

    reflection: ReflectionRecord
    state: State
    root: str
    standing: Standing


@dataclass(frozen=True)
class Recalled:
    """One time that a lesson was given to a trial.

    Args:
        episode_id: the episode.
        trial: the trial.
        rank: its place among what the trial was given.
        why: what brought it back.
        created_at: when.
        verdict: what the trial came to; None while that is open.
    """

    episode_id: str
    trial: int
    rank: int
    why: str
    created_at: str
    verdict: Verdict | None


@dataclass(frozen=True)
class LessonView:
    """All that is known of one lesson.

    Args:
        info: the lesson.
        signal: what stands behind it; None where it was dropped or never there.
        same: ids of lessons that say the same, oldest first.
        recalled: the last times that it was recalled, newest first.
        marks: what was decided about it, oldest first.
    """

    info: LessonInfo
    signal: Signal | None
    same: Sequence[str]
    recalled: Sequence[Recalled]
    marks: Sequence[LessonMark]


class Lessons:
    """The lessons of one namespace of a store.

    Args:
        store: a durable store; its namespace is the one that is seen.
    """

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self._namespace = store.namespace

    async def list(
        self, *, family: str = "", task_id: str = "", state: State | None = None, limit: int = 50
    ) -> Sequence[LessonInfo]:
        """Lessons, newest first."""
        values = {"family": family, "task_id": task_id, "state": state.value if state else "", "limit": limit}
        return [_info(row) for row in await self._rows(_LIST, **values)]

    async def search(self, text: str, *, family: str = "", task_id: str = "", limit: int = 20) -> Sequence[LessonInfo]:
        """Lessons that hold all words of `text`, best first; where there are none, those that hold any of them.

        Of the newest 200 that match, in every state.
        """
        terms = terms_of(text)
        if not terms:
            return []
        rows: Sequence[Sequence[Any]] = []
        for every in (True, False):
            query = _every(terms) if every else _any(terms)
            values = {**_ANY, "family": family, "task_id": task_id, "limit": FOUND_SCAN}
            rows = await self._store.run_read(
                lambda session, query=query, values=values: _SEARCH.rows(
                    session, namespace=self._namespace, query=query[session.dialect.name], **values
                )
            )
            if rows:
                break
        found = {row[0]: _info(row) for row in rows}
        ranked = rank_texts({number: info.reflection.text for number, info in found.items()}, terms)
        rest = [number for number in found if number not in set(ranked)]
        return [found[number] for number in (*ranked, *rest)][: max(limit, 0)]

    async def find(self, prefixes: Sequence[str]) -> Sequence[str]:
        """The ids that begin so.

        Raises:
            RecordNotFound: none begins so, or more than one.
        """
        return [await self._find(prefix) for prefix in prefixes]

    async def _find(self, prefix: str) -> str:
        rows = await self._rows(_BEGINS, prefix=prefix, length=len(escape(prefix))) if prefix else ()
        if len(rows) != 1:
            found = "more than one lesson" if rows else "no lesson"
            raise RecordNotFound(
                f"There is {found} whose id begins with {prefix!r}.", do="List them:  groundwire memory list"
            )
        return unescape(rows[0][0])

    async def show(self, lesson_id: str, *, recalls: int = 20) -> LessonView:
        """All that is known of a lesson.

        Raises:
            RecordNotFound: there is none of that id.
        """

        def work(session: Connection) -> LessonView | None:
            rows = _ONE.rows(session, namespace=self._namespace, id=lesson_id)
            if not rows:
                return None
            info = _info(rows[0])
            bodies = _SIGNAL.rows(session, id=info.reflection.signal_id)
            same = _SAME.rows(session, namespace=self._namespace, root=info.root)
            return LessonView(
                info=info,
                signal=Signal.from_json(bodies[0][0]) if bodies else None,
                same=[unescape(row[0]) for row in same if unescape(row[0]) != lesson_id],
                recalled=[
                    _recalled(row)
                    for row in _RECALLS.rows(session, namespace=self._namespace, id=lesson_id, limit=recalls)
                ],
                marks=[_mark(row) for row in _MARKS.rows(session, namespace=self._namespace, id=lesson_id)],
            )

        view = await self._store.run_read(work)
        if view is None:
            raise RecordNotFound(f"There is no lesson {lesson_id!r}.", do="List them:  groundwire memory list")
        return view

    async def mark(self, ids: Sequence[str], mark: Mark, *, reason: str = "", by: str = "") -> None:
        """Quarantines or releases lessons, with all that say the same."""
        marks = [LessonMark(lesson_id=lesson_id, mark=mark, reason=reason, by=by) for lesson_id in ids]
        await self._store.append(*marks)

    async def same_as(self, ids: Sequence[str]) -> Sequence[str]:
        """These lessons and all that say the same: what forgetting them forgets."""

        def work(session: Connection) -> list[str]:
            found: dict[str, None] = {}
            for lesson_id in ids:
                for row in _ONE.rows(session, namespace=self._namespace, id=lesson_id):
                    for (same,) in _SAME.rows(session, namespace=self._namespace, root=unescape(row[2])):
                        found.setdefault(unescape(same))
            return list(found)

        return await self._store.run_read(work)

    async def forget(self, ids: Sequence[str], *, reason: str = "", by: str = "") -> int:
        """Deletes the texts of lessons and of all that say the same, and remembers only that they are gone.

        Prompts and answers of model calls that quoted them stay in the ledger until a retention rule drops them.

        Returns:
            How many were forgotten.
        """
        every = await self.same_as(ids)
        marks = [LessonMark(lesson_id=lesson_id, mark=Mark.FORGOTTEN, reason=reason, by=by) for lesson_id in every]
        await self._store.append(*marks)
        return len(every)

    async def states(self) -> Mapping[State, int]:
        """How many lessons are in each state."""
        return {State(state): count for state, count in await self._rows(_STATES)}

    async def rates(self, scope: str, *, limit: int = 20) -> Sequence[tuple[str, int, int]]:
        """(key, trials, passed) of the tasks or families with most trials."""
        return [
            (unescape(key), trials, passed)
            for key, trials, passed in await self._rows(_RATES, scope=scope, limit=limit)
        ]

    async def measured(self, *, limit: int = 1000) -> Sequence[LessonInfo]:
        """Lessons that were recalled for a trial with a verdict, the most useful first."""
        return [_info(row) for row in await self._rows(_MEASURED, limit=limit)]

    async def _rows(self, query: Sql, **values: Any) -> Sequence[Sequence[Any]]:
        return await self._store.run_read(lambda session: query.rows(session, namespace=self._namespace, **values))


def _every(terms: tuple[str, ...]) -> Mapping[str, str]:
    quoted = " ".join(f'"{term}"' for term in terms)
    return {"sqlite": quoted, "postgresql": quoted}


def _any(terms: tuple[str, ...]) -> Mapping[str, str]:
    return {"sqlite": as_fts5(terms), "postgresql": as_websearch(terms)}


def _info(row: Sequence[Any]) -> LessonInfo:
    _, state, root, trials, passed, expected = row[:6]
    reflection = _REFLECTION.decode(row[6:])
    assert isinstance(reflection, ReflectionRecord)
    return LessonInfo(reflection, State(state), unescape(root), Standing(trials, passed, expected))


def _recalled(row: Sequence[Any]) -> Recalled:
    episode_id, trial, rank, why, created_at, verdict = row
    return Recalled(unescape(episode_id), trial, rank, unescape(why), created_at, Verdict(verdict) if verdict else None)


def _mark(row: Sequence[Any]) -> LessonMark:
    mark = CODECS[LessonMark].decode(row)
    assert isinstance(mark, LessonMark)
    return mark
