"""SQL, built once: inserts in the driver's own form for the hot path, queries in Core with named parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from sqlalchemy import Connection, Dialect, Select, and_, bindparam, case, exists, func, literal_column, select
from sqlalchemy.dialects import postgresql, sqlite

from groundwire.memory.mapping import CODECS, OF_EPISODE, Codec
from groundwire.memory.policy import COUNTED_ORIGINS
from groundwire.memory.tables import SEQUENCE, TABLES
from groundwire.records import Admission, Artifact, EpisodeRecord, ReflectionRecord, RunRecord
from groundwire.signals import Signal, Verdict

__all__ = [
    "ADMITTED",
    "ARTIFACT",
    "EDITS",
    "EDITS_OF_FAMILY",
    "EDITS_OF_SIGNATURE",
    "EPISODES",
    "EPISODE_RECORDS",
    "LESSONS_OF_FAMILY",
    "LESSONS_OF_TASK",
    "RUNS",
    "SIGNAL",
    "Inserts",
    "Query",
    "inserts_for",
]

Values = tuple[Any, ...]

Query: TypeAlias = "Select[*tuple[Any, ...]]"
"""A query whose columns are known by the codec that reads them."""


@dataclass(frozen=True)
class Inserts:
    """One dialect's inserts.

    Args:
        by_type: SQL by record class; positional parameters: `seq`, then the codec's columns.
        numbers: SQL for the highest number given so far (SQLite) or for fresh ones (PostgreSQL).
        is_sqlite: which of the two.
    """

    by_type: Mapping[type[Any], str]
    numbers: str
    is_sqlite: bool

    def number(self, session: Connection, count: int) -> Sequence[int]:
        """Fresh numbers for `count` rows, ascending; on SQLite only true inside BEGIN IMMEDIATE."""
        if self.is_sqlite:
            highest: int = session.connection.cursor().execute(self.numbers).fetchone()[0]
            return range(highest + 1, highest + 1 + count)
        return sorted(session.exec_driver_sql(self.numbers, (count,)).scalars())

    def insert(self, session: Connection, kind: type[Any], rows: Sequence[Values]) -> None:
        """Writes rows of one record class."""
        if not self.is_sqlite:
            session.exec_driver_sql(self.by_type[kind], rows[0] if len(rows) == 1 else list(rows))
        elif len(rows) == 1:
            # SQLite answers in microseconds: SQLAlchemy's part of an execute would cost more than the insert.
            session.connection.cursor().execute(self.by_type[kind], rows[0])
        else:
            session.connection.cursor().executemany(self.by_type[kind], rows)


@lru_cache(maxsize=8)
def inserts_for(dialect: Dialect) -> Inserts:
    """Compiles a dialect's inserts, once."""
    is_sqlite = dialect.name == "sqlite"
    by_type = {codec.type: _insert(codec, dialect) for codec in CODECS.values()}
    if is_sqlite:
        highest = ", ".join(f"coalesce((SELECT max(seq) FROM {name}), 0)" for name in TABLES)
        return Inserts(by_type, f"SELECT max({highest})", is_sqlite)
    return Inserts(by_type, f"SELECT nextval('{SEQUENCE}') FROM generate_series(1, %s)", is_sqlite)


def _insert(codec: Codec, dialect: Dialect) -> str:
    make = sqlite.insert if dialect.name == "sqlite" else postgresql.insert
    statement = make(TABLES[codec.table])
    if codec.key:
        statement = statement.on_conflict_do_nothing(index_elements=list(codec.key))
    return str(statement.compile(dialect=dialect, column_keys=["seq", *codec.columns]))


def _select(codec: Codec) -> Query:
    """`seq`, then the codec's columns."""
    columns = TABLES[codec.table].c
    return select(columns.seq, *(columns[name] for name in codec.columns))


def _of_episode(codec: Codec) -> Query:
    columns = TABLES[codec.table].c
    mine = columns.id if codec.type is EpisodeRecord else columns.episode_id
    return _select(codec).where(mine == bindparam("episode_id"))


def _runs() -> Query:
    columns = TABLES["runs"].c
    # substr, since LIKE would compare by other rules in each database.
    matches = func.substr(columns.id, 1, bindparam("length")) == bindparam("prefix")
    return _select(CODECS[RunRecord]).where(matches).order_by(columns.seq.desc()).limit(bindparam("limit"))


def _lessons() -> Query:
    """Reflections, newest first, that a signal of this ledger stands behind."""
    reflection, signal = TABLES["reflections"].c, TABLES["signals"].c
    backed = exists().where(signal.id == reflection.signal_id)
    newest = _select(CODECS[ReflectionRecord]).where(backed).order_by(reflection.seq.desc())
    return newest.limit(bindparam("limit")).offset(bindparam("offset"))


def _lessons_of_family() -> Query:
    reflection = TABLES["reflections"].c
    return _lessons().where(reflection.family == bindparam("family"), reflection.task_id != bindparam("task_id"))


def _edits(episodes: Query | None = None) -> Query:
    """(edits, candidates judged, candidates of these that passed) per combination of edits, in the named episodes.

    The verdicts are folded to one row a candidate first, in the order of their index and without reading a signal's
    body; asking for each candidate's signals instead takes three times as long.
    """
    candidate, signal = TABLES["candidates"].c, TABLES["signals"].c
    passed = func.max(case((signal.verdict == Verdict.PASS.value, 1), else_=0)).label("passed")
    verdicts = select(signal.episode_id, signal.candidate_digest, passed).where(
        signal.origin.in_(sorted(COUNTED_ORIGINS)),
        signal.verdict.in_([Verdict.PASS.value, Verdict.FAIL.value]),
    )
    if episodes is not None:
        verdicts = verdicts.where(signal.episode_id.in_(episodes))
    judged = verdicts.group_by(signal.episode_id, signal.candidate_digest).subquery("judged")
    same = and_(candidate.episode_id == judged.c.episode_id, candidate.digest == judged.c.candidate_digest)
    counts = select(candidate.edits, func.count(), func.sum(judged.c.passed))
    return counts.select_from(judged).join(TABLES["candidates"], same).group_by(candidate.edits)


_EPISODE, _REFLECTION, _SIGNAL = TABLES["episodes"].c, TABLES["reflections"].c, TABLES["signals"].c

RUNS = _runs()
EPISODES = _select(CODECS[EpisodeRecord]).where(_EPISODE.run_id == bindparam("run_id")).order_by(_EPISODE.seq)
EPISODE_RECORDS = tuple((codec, _of_episode(codec)) for codec in OF_EPISODE)
SIGNAL = _select(CODECS[Signal]).where(TABLES["signals"].c.id == bindparam("id"))
ADMITTED = _select(CODECS[Admission]).where(
    TABLES["admissions"].c.signal_id == bindparam("signal_id"), TABLES["admissions"].c.admitted
)
ARTIFACT = _select(CODECS[Artifact]).where(TABLES["artifacts"].c.digest == bindparam("digest"))
LESSONS_OF_TASK = _lessons().where(_REFLECTION.task_id == bindparam("task_id"))
LESSONS_OF_FAMILY = _lessons_of_family()
EDITS = _edits()
EDITS_OF_FAMILY = _edits(select(_EPISODE.id).where(_EPISODE.family == bindparam("family")))
EDITS_OF_SIGNATURE = _edits(
    select(_SIGNAL.episode_id).where(_SIGNAL.trial == literal_column("0"), _SIGNAL.signature == bindparam("signature"))
)
