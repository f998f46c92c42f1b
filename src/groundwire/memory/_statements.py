"""SQL, built once: inserts in the driver's own form for the hot path, queries with named parameters.

Written out, and held to `tables` by the tests: the ORM, which describes the tables to migrations, is not loaded to use
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Dialect

from groundwire.core._records import (
    MOST_AT_ONCE,
    Admission,
    EpisodeEnd,
    EpisodeRecord,
    LessonMark,
    Link,
    ModelCall,
    ReflectionRecord,
    RunEnd,
    RunRecord,
)
from groundwire.core._signals import Signal
from groundwire.memory._mapping import CODECS, OF_EPISODE, Codec, names_of
from groundwire.memory._sql import Sql, cursor_of

Values = tuple[Any, ...]

SEQUENCE = "ledger_seq"
"""PostgreSQL only. SQLite has one writer at a time, so the highest `seq` there is enough."""

_HIGHEST = "groundwire_highest"
"""Where a connection to SQLite keeps the last number that it gave, and the file's version then."""

NAMED = frozenset(CODECS[kind] for kind in (RunRecord, EpisodeRecord, ReflectionRecord, LessonMark, ModelCall))
"""Those whose rows carry the store's namespace."""


@dataclass(frozen=True)
class Inserts:
    """One dialect's inserts.

    Args:
        by_type: SQL by record class; positional parameters: `seq`, then the codec's columns, then the namespace where
            the table has one.
        numbers: SQL for the highest number given so far (SQLite) or for fresh ones (PostgreSQL).
        is_sqlite: which of the two.
    """

    by_type: Mapping[type[Any], str]
    numbers: str
    is_sqlite: bool

    def number(self, session: Connection, count: int) -> Sequence[int]:
        """Fresh numbers for `count` rows, ascending; on SQLite only true inside BEGIN IMMEDIATE."""
        if self.is_sqlite:
            # what this connection gave last is the highest still, unless another one has written meanwhile
            version: int = cursor_of(session).execute("PRAGMA data_version").fetchone()[0]
            seen, highest = session.info.get(_HIGHEST, (None, 0))
            if seen != version:
                highest = cursor_of(session).execute(self.numbers).fetchone()[0]
            session.info[_HIGHEST] = version, highest + count
            return range(highest + 1, highest + 1 + count)
        return sorted(session.exec_driver_sql(self.numbers, (count,)).scalars())

    def insert(self, session: Connection, kind: type[Any], rows: Sequence[Values]) -> None:
        """Writes rows of one record class."""
        if not self.is_sqlite:
            session.exec_driver_sql(self.by_type[kind], rows[0] if len(rows) == 1 else list(rows))
        elif len(rows) == 1:
            # SQLite answers in microseconds: SQLAlchemy's part of an execute would cost more than the insert.
            cursor_of(session).execute(self.by_type[kind], rows[0])
        else:
            cursor_of(session).executemany(self.by_type[kind], rows)

    def insert_new(self, session: Connection, kind: type[Any], row: Values) -> bool:
        """Writes one row; False where its key was there already."""
        if self.is_sqlite:
            return cursor_of(session).execute(self.by_type[kind], row).rowcount == 1
        return session.exec_driver_sql(self.by_type[kind], row).rowcount == 1


@lru_cache(maxsize=8)
def inserts_for(dialect: Dialect) -> Inserts:
    """Makes a dialect's inserts, once."""
    is_sqlite = dialect.name == "sqlite"
    by_type = {codec.type: _insert(codec, "?" if is_sqlite else "%s") for codec in CODECS.values()}
    if is_sqlite:
        highest = ", ".join(f"coalesce((SELECT max(seq) FROM {codec.table}), 0)" for codec in CODECS.values())
        return Inserts(by_type, f"SELECT max({highest})", is_sqlite)
    return Inserts(by_type, f"SELECT nextval('{SEQUENCE}') FROM generate_series(1, %s)", is_sqlite)


def _insert(codec: Codec, mark: str) -> str:
    stamped = ", namespace" if codec in NAMED else ""
    marks = ", ".join([mark] * (1 + len(codec.columns) + bool(stamped)))
    known = f" ON CONFLICT ({', '.join(codec.key)}) DO NOTHING" if codec.key else ""
    return f"INSERT INTO {codec.table} (seq, {names_of(codec)}{stamped}) VALUES ({marks}){known}"


def _select(kind: type[Any], where: str, *, sqlite: str = "") -> Sql:
    """`seq`, then the codec's columns.

    Args:
        kind: the record's class.
        where: the condition, and what follows it.
        sqlite: instead of it on SQLite.
    """
    codec = CODECS[kind]
    start = f"SELECT seq, {names_of(codec)} FROM {codec.table} WHERE "
    return Sql(start + where, sqlite=start + sqlite if sqlite else "")


ONE_OF = f"IN ({', '.join(f':of{n}' for n in range(MOST_AT_ONCE))})"
"""A condition on as many ids as are asked for at once: one statement, and one plan, however many these are."""


def one_of(ids: Sequence[str]) -> dict[str, str]:
    """The values of `ONE_OF`.

    Args:
        ids: one to `MOST_AT_ONCE`.
    """
    return {f"of{n}": ids[min(n, len(ids) - 1)] for n in range(MOST_AT_ONCE)}


def episode_column(codec: Codec) -> str:
    """The column that names a row's episode."""
    return "id" if codec.type is EpisodeRecord else "episode_id"


def _nobody_elses(table: str) -> str:
    """True but for what belongs to an episode of another namespace. Episodes nobody wrote down are nobody's."""
    elses = f"SELECT 1 FROM episodes e WHERE e.id = {table}.episode_id AND e.namespace <> :namespace"
    return f"NOT EXISTS ({elses})"


_ABOUT = f"signal_id = :signal_id AND {{admitted}} AND {_nobody_elses('admissions')}"

RUNS = _select(
    RunRecord,
    # substr, since LIKE would compare by other rules in each database
    "namespace = :namespace AND substr(id, 1, :length) = :prefix ORDER BY seq DESC LIMIT :limit",
)
RUN_ENDS = _select(
    RunEnd, "run_id = :run_id AND run_id IN (SELECT id FROM runs WHERE namespace = :namespace) ORDER BY seq"
)
EPISODES = _select(EpisodeRecord, "run_id = :run_id AND namespace = :namespace ORDER BY seq LIMIT :most")
EPISODES_AFTER = _select(
    EpisodeRecord,
    "run_id = :run_id AND namespace = :namespace AND seq > (SELECT seq FROM episodes WHERE id = :after)"
    " ORDER BY seq LIMIT :most",
)
ALL_ROWS = 2**63 - 1
"""A limit that both databases take, and that is none."""
EPISODE_ENDS = _select(
    EpisodeEnd,
    "episode_id IN (SELECT id FROM episodes WHERE run_id = :run_id AND namespace = :namespace) ORDER BY seq",
)
EPISODE_RECORDS = tuple((codec, _select(codec.type, f"{episode_column(codec)} {ONE_OF}")) for codec in OF_EPISODE)
LINKS = _select(Link, "run_id = :run_id AND episode_id = :of ORDER BY number, seq")
LINKS_OF_EACH = _select(Link, f"run_id = :run_id AND episode_id {ONE_OF} ORDER BY number, seq")
LAST_LINKS = _select(
    Link,
    "run_id = :run_id AND episode_id <> :run_id AND NOT EXISTS (SELECT 1 FROM links l WHERE l.run_id = links.run_id"
    " AND l.episode_id = links.episode_id AND l.number > links.number) ORDER BY seq",
)
OWNERS = Sql(f"SELECT id, namespace FROM episodes WHERE id {ONE_OF}")
SIGNAL = _select(Signal, f"id = :id AND {_nobody_elses('signals')}")
ADMITTED = _select(
    # each as its partial index has it
    Admission,
    _ABOUT.format(admitted="admitted"),
    sqlite=_ABOUT.format(admitted="admitted = 1"),
)
ANSWERS = _select(
    ModelCall,
    "namespace = :namespace AND request_digest = :request_digest AND completion <> '' AND reused = '' ORDER BY seq",
)
JUDGEMENTS = _select(
    Signal,
    "candidate_digest = :candidate_digest AND run_id IN (SELECT id FROM runs WHERE namespace = :namespace)"
    " ORDER BY seq",
)


_BODY = Sql("SELECT body FROM artifacts WHERE digest = :digest")


def body_in(session: Connection, key: str) -> bytes | None:
    """An artifact's body as it is kept; None where there is none."""
    found = _BODY.rows(session, digest=key)
    return bytes(found[0][0]) if found else None
