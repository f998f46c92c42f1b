"""SQL, built once: inserts in the driver's own form for the hot path, queries in Core with named parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, Dialect, Select, bindparam, func, select
from sqlalchemy.dialects import postgresql, sqlite

from groundwire.memory.mapping import CODECS, OF_EPISODE, Codec
from groundwire.memory.tables import SEQUENCE, TABLES
from groundwire.records import Admission, Artifact, EpisodeEnd, EpisodeRecord, ModelCall, RunEnd, RunRecord
from groundwire.signals import Signal

__all__ = [
    "ADMITTED",
    "ANSWERS",
    "ARTIFACT",
    "EPISODES",
    "EPISODE_ENDS",
    "EPISODE_RECORDS",
    "JUDGEMENTS",
    "NAMED",
    "OWNER",
    "RUNS",
    "RUN_ENDS",
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

    def insert_new(self, session: Connection, kind: type[Any], row: Values) -> bool:
        """Writes one row; False where its key was there already."""
        if self.is_sqlite:
            return session.connection.cursor().execute(self.by_type[kind], row).rowcount == 1
        return session.exec_driver_sql(self.by_type[kind], row).rowcount == 1


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
    stamped = ["namespace"] if codec in NAMED else []
    return str(statement.compile(dialect=dialect, column_keys=["seq", *codec.columns, *stamped]))


NAMED = tuple(codec for codec in CODECS.values() if "namespace" in TABLES[codec.table].c)
"""Those whose rows carry the store's namespace."""


def _select(codec: Codec) -> Query:
    """`seq`, then the codec's columns."""
    columns = TABLES[codec.table].c
    return select(columns.seq, *(columns[name] for name in codec.columns))


def _of_episode(codec: Codec) -> Query:
    columns = TABLES[codec.table].c
    mine = columns.id if codec.type is EpisodeRecord else columns.episode_id
    return _select(codec).where(mine == bindparam("episode_id"))


def _nobody_elses(episode_id: ColumnElement[str]) -> ColumnElement[bool]:
    """True but for what belongs to an episode of another namespace. Episodes nobody wrote down are nobody's."""
    episode = TABLES["episodes"].c
    elses = select(episode.id).where(episode.id == episode_id, episode.namespace != bindparam("namespace"))
    return ~elses.exists()


def _signal() -> Query:
    columns = TABLES["signals"].c
    return _select(CODECS[Signal]).where(columns.id == bindparam("id"), _nobody_elses(columns.episode_id))


def _admitted() -> Query:
    columns = TABLES["admissions"].c
    about = columns.signal_id == bindparam("signal_id")
    return _select(CODECS[Admission]).where(about, columns.admitted, _nobody_elses(columns.episode_id))


def _runs() -> Query:
    columns = TABLES["runs"].c
    # substr, since LIKE would compare by other rules in each database.
    matches = func.substr(columns.id, 1, bindparam("length")) == bindparam("prefix")
    mine = columns.namespace == bindparam("namespace")
    return _select(CODECS[RunRecord]).where(mine, matches).order_by(columns.seq.desc()).limit(bindparam("limit"))


def _answers() -> Query:
    columns = TABLES["model_calls"].c
    mine = columns.namespace == bindparam("namespace")
    asked = columns.request_digest == bindparam("request_digest")
    return (
        _select(CODECS[ModelCall])
        .where(mine, asked, columns.completion != "", columns.reused == "")
        .order_by(columns.seq)
    )


def _judgements() -> Query:
    signal, run = TABLES["signals"].c, TABLES["runs"].c
    about = signal.candidate_digest == bindparam("candidate_digest")
    mine = signal.run_id.in_(select(run.id).where(run.namespace == bindparam("namespace")))
    return _select(CODECS[Signal]).where(about, mine).order_by(signal.seq)


_EPISODE = TABLES["episodes"].c

RUNS = _runs()
EPISODES = (
    _select(CODECS[EpisodeRecord])
    .where(_EPISODE.run_id == bindparam("run_id"), _EPISODE.namespace == bindparam("namespace"))
    .order_by(_EPISODE.seq)
)
RUN_ENDS = (
    _select(CODECS[RunEnd])
    .join(TABLES["runs"], TABLES["runs"].c.id == TABLES["run_ends"].c.run_id)
    .where(TABLES["run_ends"].c.run_id == bindparam("run_id"), TABLES["runs"].c.namespace == bindparam("namespace"))
    .order_by(TABLES["run_ends"].c.seq)
)
EPISODE_ENDS = (
    _select(CODECS[EpisodeEnd])
    .join(TABLES["episodes"], _EPISODE.id == TABLES["episode_ends"].c.episode_id)
    .where(_EPISODE.run_id == bindparam("run_id"), _EPISODE.namespace == bindparam("namespace"))
    .order_by(TABLES["episode_ends"].c.seq)
)
EPISODE_RECORDS = tuple((codec, _of_episode(codec)) for codec in OF_EPISODE)
OWNER = select(_EPISODE.namespace).where(_EPISODE.id == bindparam("episode_id"))
SIGNAL = _signal()
ADMITTED = _admitted()
ARTIFACT = _select(CODECS[Artifact]).where(TABLES["artifacts"].c.digest == bindparam("digest"))
ANSWERS = _answers()
JUDGEMENTS = _judgements()
