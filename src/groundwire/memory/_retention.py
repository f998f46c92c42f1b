"""Retention: what a ledger may lose once its lessons are learned, and giving the space back.

What is dropped of an old episode is what takes the room: prompts, answers, programs' output, candidates' bodies and the
signals that stand behind no lesson. What stays says what was tried, what it came to and what was learned: runs,
episodes, trials and their outcomes, candidates' names, recalls, reflections with their signals, decisions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from groundwire.core._chain import Heads, RecordChain
from groundwire.core._errors import SealError
from groundwire.core._records import Link
from groundwire.core._seal import FileKeys
from groundwire.core._signing import signer
from groundwire.memory._derive import rebuild
from groundwire.memory._lessons import Lessons
from groundwire.memory._mapping import CODECS
from groundwire.memory._sql import Sql
from groundwire.memory._sql_store import SqlStore
from groundwire.memory._statements import inserts_for
from groundwire.memory._tables import TABLES
from groundwire.memory._text import unescape

_OLD = (
    "SELECT e.id FROM episodes e WHERE e.namespace = :namespace AND EXISTS"
    " (SELECT 1 FROM episode_ends x WHERE x.episode_id = e.id AND x.created_at < :before)"
    " AND NOT EXISTS (SELECT 1 FROM episode_ends x WHERE x.episode_id = e.id AND x.created_at >= :before)"
)
_NO_LESSON = "id NOT IN (SELECT r.signal_id FROM reflections r)"
_HELD = (
    "SELECT c.artifact FROM candidates c WHERE c.episode_id {of}"
    " UNION SELECT p.candidate FROM program_runs p WHERE p.episode_id {of}"
)
_BODIES = f"digest IN ({_HELD.format(of=f'IN ({_OLD})')}) AND digest NOT IN ({_HELD.format(of=f'NOT IN ({_OLD})')})"
_COVERAGE = f"digest IN (SELECT 'coverage-' || s.id FROM signals s WHERE s.episode_id IN ({_OLD}))"
_GIVEN = (
    f"digest IN (SELECT '{{kind}}-' || t.episode_id || '-' || t.trial FROM trials t WHERE t.episode_id IN ({_OLD}))"
)
_STATISTICS, _EXPERIENCE = _GIVEN.format(kind="statistics"), _GIVEN.format(kind="experience")
_TREES = (
    f"digest IN (SELECT 'tree-' || e.base_digest FROM episodes e WHERE e.id IN ({_OLD})) AND digest NOT IN"
    f" (SELECT 'tree-' || e.base_digest FROM episodes e WHERE e.id NOT IN ({_OLD}))"
)
_DROPPED: Mapping[str, tuple[str, ...]] = {
    "artifacts": (_COVERAGE, _STATISTICS, _EXPERIENCE, _BODIES, _TREES),
    "signals": (f"episode_id IN ({_OLD}) AND {_NO_LESSON}",),
    "intents": (f"episode_id IN ({_OLD}) AND kind IN ('model_call', 'program')",),
    "model_calls": (f"episode_id IN ({_OLD})",),
    "program_runs": (f"episode_id IN ({_OLD})",),
    "admissions": (f"episode_id IN ({_OLD})",),
}
_COUNT = {
    (table, number): Sql(f"SELECT count(*) FROM {table} WHERE {condition}")
    for table, conditions in _DROPPED.items()
    for number, condition in enumerate(conditions)
}
_DELETE = {
    (table, number): Sql(f"DELETE FROM {table} WHERE {condition}")
    for table, conditions in _DROPPED.items()
    for number, condition in enumerate(conditions)
}
_QUARANTINED = Sql(
    "SELECT l.id FROM lessons l WHERE l.namespace = :namespace AND l.state = 'quarantined' AND l.id = l.root AND"
    " (SELECT max(m.created_at) FROM lesson_marks m WHERE m.lesson_id = l.id AND m.namespace = l.namespace"
    " AND m.mark = 'quarantined') < :before"
    " ORDER BY l.number"
)


@dataclass(frozen=True)
class Size:
    """How large a ledger is.

    Args:
        bytes: on disk, indexes included, of all namespaces together.
        rows: of the store's own namespace, by table; artifacts, which all may share, are those of its candidates.
    """

    bytes: int
    rows: Mapping[str, int]


async def count_old(store: SqlStore, *, days: float) -> Mapping[str, int]:
    """Rows by table that `drop_old` would delete."""
    return await store.run_read(lambda session: _totals(session, _COUNT, store.namespace, days, deletes=False))


async def drop_old(store: SqlStore, *, days: float) -> Mapping[str, int]:
    """Drops the bodies of episodes that ended more than `days` ago; gives the deleted rows by table.

    A link of each episode's chain says so, sealed by its run's key. Without that key here the rows are dropped all the
    same, and the run is then said not to be as it was written.
    """
    chains: list[RecordChain] = []

    def work(session: Connection) -> Mapping[str, int]:
        chains[:] = _say_dropped(session, store, days)
        return _totals(session, _DELETE, store.namespace, days, deletes=True)

    dropped = await store.run_write(work)
    for chain in chains:
        chain.kept()
    return dropped


DROPPED_KINDS = ("Admission", "Artifact", "Intent", "ModelCall", "ProgramRun", "Signal")
"""What is dropped, by the records' classes."""
_OLD_LINKS = Sql(
    f"SELECT l.seq, l.run_id, l.episode_id, l.number, l.body, l.seal FROM links l WHERE l.episode_id IN ({_OLD})"
    " AND NOT EXISTS (SELECT 1 FROM links n WHERE n.run_id = l.run_id AND n.episode_id = l.episode_id"
    " AND n.number > l.number) AND l.body NOT LIKE '{\"dropped\":%' ORDER BY l.seq"
)


def _say_dropped(session: Connection, store: SqlStore, days: float) -> list[RecordChain]:
    """Writes a link behind the last one of each old episode that has a chain, once."""
    keys = FileKeys()
    chains: list[RecordChain] = []
    inserts = inserts_for(session.dialect)
    codec = CODECS[Link]
    for row in _OLD_LINKS.rows(session, namespace=store.namespace, before=_before(days)):
        link = codec.decode(row[1:])
        assert isinstance(link, Link)
        try:
            sealing = signer(link.run_id, keys.load(link.run_id))
        except SealError:
            continue
        chain = RecordChain(sealing, link.episode_id, Heads(keys.heads_file(link.run_id), store.url))
        chain.go_on_after([link])
        more = chain.open(dropped=DROPPED_KINDS).close(())
        inserts.insert(session, Link, [(inserts.number(session, 1)[0], *codec.encode(more))])
        chains.append(chain)
    return chains


def _totals(
    session: Connection, statements: Mapping[tuple[str, int], Sql], namespace: str, days: float, *, deletes: bool
) -> Mapping[str, int]:
    totals: dict[str, int] = {}
    values = {"namespace": namespace, "before": _before(days)}
    for (table, _), statement in statements.items():
        count = statement.change(session, **values) if deletes else statement.rows(session, **values)[0][0]
        totals[table] = totals.get(table, 0) + count
    return {table: count for table, count in totals.items() if count}


async def old_quarantined(store: SqlStore, *, days: float) -> list[str]:
    """Lessons that have been in quarantine for more than `days`."""
    rows = await store.run_read(
        lambda session: _QUARANTINED.rows(session, namespace=store.namespace, before=_before(days))
    )
    return list(await Lessons(store).same_as([unescape(row[0]) for row in rows]))


async def rebuild_lessons(store: SqlStore) -> None:
    """Makes all that memory concludes again from the ledger, for every namespace."""
    await store.run_write(rebuild)


_TIDY_SQLITE = (
    # words of forgotten lessons stay in the full-text index until its parts are merged
    "INSERT INTO lesson_words(lesson_words) VALUES ('optimize')",
    "PRAGMA optimize",
    "VACUUM",
    "PRAGMA wal_checkpoint(TRUNCATE)",
)


async def compact(store: SqlStore) -> None:
    """Gives free space back to the disk, and what was deleted is gone from it. Other processes wait meanwhile."""
    await store.run_alone(_TIDY_SQLITE, ("VACUUM (ANALYZE)",))


async def bytes_of(store: SqlStore) -> int:
    """The database's size on disk, indexes included, of all namespaces together."""
    return await store.run_read(lambda session: _BYTES.rows(session)[0][0])


async def size_of(store: SqlStore) -> Size:
    """The database's size, and the rows of the store's namespace."""

    def work(session: Connection) -> Size:
        rows = {name: query.rows(session, namespace=store.namespace)[0][0] for name, query in _ROWS.items()}
        return Size(_BYTES.rows(session)[0][0], rows)

    return await store.run_read(work)


def _rows_of(table: str) -> Sql:
    columns = TABLES[table].c
    if "namespace" in columns:
        mine = "namespace = :namespace"
    elif "episode_id" in columns:
        mine = "episode_id IN (SELECT id FROM episodes WHERE namespace = :namespace)"
    elif "run_id" in columns:
        mine = "run_id IN (SELECT id FROM runs WHERE namespace = :namespace)"
    else:
        own = "SELECT id FROM episodes WHERE namespace = :namespace"
        mine = f"digest IN (SELECT artifact FROM candidates WHERE episode_id IN ({own}))"
    return Sql(f"SELECT count(*) FROM {table} WHERE {mine}")


_ROWS: Mapping[str, Sql] = {table: _rows_of(table) for table in TABLES}
_BYTES = Sql(
    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'",
    sqlite="SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)",
)


def _before(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="microseconds")
