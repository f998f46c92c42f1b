"""A run's rows as they lie in the database, in whatever namespace, and what a link would say of each."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection

from groundwire.core._records import Artifact, Covered, Link, RunEnd, RunRecord
from groundwire.memory._mapping import CODECS, OF_EPISODE, Codec, covered, names_of
from groundwire.memory._sql import Sql
from groundwire.memory._sql_store import SqlStore
from groundwire.memory._statements import LINKS, LINKS_OF_EACH, NAMED, ONE_OF, episode_column, one_of
from groundwire.memory._text import unescape


class KeptRow(NamedTuple):
    """One row, and what a link would say of it."""

    seq: int
    codec: Codec
    values: Sequence[Any]
    covered: Covered
    namespace: str | None


async def run_ids(store: SqlStore) -> Sequence[str]:
    """Every run that the database knows of, in whatever namespace, also those of which only links or ends are left."""
    return await store.run_read(lambda session: [unescape(row[0]) for row in RUN_IDS.rows(session)])


async def episodes_named(store: SqlStore, prefix: str) -> Sequence[tuple[str, str]]:
    """(episode, run) of the first two episodes whose ids begin with a text, in whatever namespace."""
    values: dict[str, Any] = {"prefix": prefix, "length": len(prefix), "beyond": f"{prefix}\U0010fffd"}
    rows = await store.run_read(lambda session: EPISODES_NAMED_SO.rows(session, **values))
    return [(unescape(episode), unescape(run)) for episode, run in rows]


def links_of(session: Connection, run_id: str, of: str) -> list[tuple[int, Link]]:
    """The links of one chain, each with its place, in order.

    Args:
        session: reads the database.
        run_id: the run.
        of: whose chain: an episode's id, or the run's own.
    """
    return [(row[0], link_of(row)) for row in LINKS.rows(session, run_id=run_id, of=of)]


def links_of_each(session: Connection, run_id: str, ids: Sequence[str]) -> dict[str, list[tuple[int, Link]]]:
    """The same of a few episodes, by episode."""
    found: dict[str, list[tuple[int, Link]]] = {id: [] for id in ids}
    for row in LINKS_OF_EACH.rows(session, run_id=run_id, **one_of(ids)):
        found[unescape(row[2])].append((row[0], link_of(row)))
    return found


def link_of(row: Sequence[Any]) -> Link:
    """As it lies there: one that was damaged is said to be, and not refused."""
    _, run_id, of, number, body, seal = row
    known = number if isinstance(number, int) else -1
    return Link(run_id=str(run_id), episode_id=str(of), number=known, body=str(body), seal=str(seal))


def rows_of(session: Connection, query: tuple[Codec, Sql], **values: str) -> list[KeptRow]:
    """What a query finds.

    Args:
        session: reads the database.
        query: one of those below.
        values: what it asks for.
    """
    codec, sql = query
    width = len(codec.columns) + 1
    return [
        KeptRow(row[0], codec, row[1:width], covered(codec, row[1:width]), row[width] if codec in NAMED else None)
        for row in sql.rows(session, **values)
    ]


def rows_of_each(session: Connection, ids: Sequence[str]) -> dict[str, list[KeptRow]]:
    """All rows of each of a few episodes, in the order they were written.

    Args:
        session: reads the database.
        ids: one to `MOST_AT_ONCE`.
    """
    found: dict[str, list[KeptRow]] = {id: [] for id in ids}
    for codec, sql in _ROWS_OF_EPISODES:
        place = codec.columns.index(episode_column(codec))
        for row in rows_of(session, (codec, sql), **one_of(ids)):
            found[unescape(row.values[place])].append(row)
    for rows in found.values():
        rows.sort(key=attrgetter("seq"))
    return found


def _query(kind: type[Any], where: str) -> tuple[Codec, Sql]:
    codec = CODECS[kind]
    stamped = ", namespace" if codec in NAMED else ""
    return codec, Sql(f"SELECT seq, {names_of(codec)}{stamped} FROM {codec.table} WHERE {where} ORDER BY seq")


OWN_RECORD, RUN_ENDS = _query(RunRecord, "id = :id"), _query(RunEnd, "run_id = :id")
ARTIFACT, ARTIFACTS = _query(Artifact, "digest = :id"), _query(Artifact, f"digest {ONE_OF}")
_ROWS_OF_EPISODES = tuple(_query(codec.type, f"{episode_column(codec)} {ONE_OF}") for codec in OF_EPISODE)
_EPISODE_IDS = (
    "SELECT id FROM episodes WHERE {run_id} = :id AND id > :after UNION"
    " SELECT episode_id FROM links WHERE run_id = :id AND episode_id <> :id AND episode_id > :after"
    " ORDER BY 1 LIMIT :most"
)
# with the plus, SQLite goes along the index of the ids; it would sort all of the run's for each page
EPISODE_IDS = Sql(_EPISODE_IDS.format(run_id="run_id"), sqlite=_EPISODE_IDS.format(run_id="+run_id"))
_NAMED_SO = "SELECT id, run_id FROM episodes WHERE {} ORDER BY id LIMIT 2"
EPISODES_NAMED_SO = Sql(
    # how PostgreSQL compares texts depends on the server's locale
    _NAMED_SO.format("substr(id, 1, :length) = :prefix"),
    sqlite=_NAMED_SO.format("id >= :prefix AND id < :beyond"),
)
RUN_IDS = Sql("SELECT id FROM runs UNION SELECT run_id FROM links UNION SELECT run_id FROM run_ends ORDER BY 1")
LINKS_WITH = Sql(f"SELECT seq, {names_of(CODECS[Link])} FROM links WHERE body LIKE :digest")
FORGOTTEN = Sql("SELECT 1 FROM lesson_marks WHERE lesson_id = :id AND mark = 'forgotten'")
