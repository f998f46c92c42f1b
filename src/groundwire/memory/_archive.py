"""Whole runs out of a ledger into an archive (`_archive_files`): copied, held against their seals, and only then taken
out of the ledger.

What memory is made of stays in the ledger: lessons with the signals behind them, what they were recalled for, and how
trials ended. So recall, its rates and a rebuild of them are as before; statistics of edits and experience in worlds
stay until a rebuild, as under the retention rule.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

from sqlalchemy import Connection

from groundwire.core._chain import Heads, LinkBody
from groundwire.core._errors import RecordNotFound, StorageError
from groundwire.core._ids import now
from groundwire.core._records import Artifact, CandidateRecord, EpisodeRecord, LessonMark, Link, ProgramRun
from groundwire.core._seal import FileKeys
from groundwire.core._signals import Signal
from groundwire.memory._archive_files import (
    ArchivedRun,
    RunWriter,
    archived_keys,
    archived_runs,
    check_pyarrow,
    content_of,
    restore,
)
from groundwire.memory._checking import PAGE, RunCheck, check_run
from groundwire.memory._engine import current
from groundwire.memory._kept_rows import (
    ARTIFACT,
    EPISODE_IDS,
    OWN_RECORD,
    RUN_ENDS,
    KeptRow,
    links_of,
    rows_of,
    rows_of_each,
)
from groundwire.memory._mapping import CODECS, names_of
from groundwire.memory._place import archive_name
from groundwire.memory._sql import Sql
from groundwire.memory._sql_store import SqlStore
from groundwire.memory._text import unescape

_UNENDED = (
    "SELECT 1 FROM episodes e WHERE e.run_id = r.id AND (NOT EXISTS"
    " (SELECT 1 FROM episode_ends x WHERE x.episode_id = e.id){later})"
)
_LATER = " OR EXISTS (SELECT 1 FROM episode_ends x WHERE x.episode_id = e.id AND x.created_at >= :before)"
_ENDED_BEFORE = Sql(
    "SELECT r.id FROM runs r WHERE r.namespace = :namespace AND r.created_at < :before AND NOT EXISTS"
    f" ({_UNENDED.format(later=_LATER)}) ORDER BY r.seq"
)
_OPEN = Sql(
    "SELECT count(*) FROM episodes e WHERE e.run_id = :run AND NOT EXISTS"
    " (SELECT 1 FROM episode_ends x WHERE x.episode_id = e.id)"
)
_EPISODES = Sql("SELECT count(*) FROM episodes WHERE run_id = :run")


async def ended_before(store: SqlStore, before: str) -> list[str]:
    """Runs of the store's namespace all of whose episodes ended before a time (ISO 8601, UTC), oldest first."""
    return await store.run_read(
        lambda session: [
            unescape(row[0]) for row in _ENDED_BEFORE.rows(session, namespace=store.namespace, before=before)
        ]
    )


async def open_episodes(store: SqlStore, run_id: str) -> int:
    """How many of a run's episodes have not ended."""
    return await store.run_read(lambda session: _OPEN.rows(session, run=run_id)[0][0])


async def episode_count(store: SqlStore, run_id: str) -> int:
    """How many episodes a run has."""
    return await store.run_read(lambda session: _EPISODES.rows(session, run=run_id)[0][0])


# --- copying


async def copy_run(
    store: SqlStore, run_id: str, archive: Path, *, progress: Callable[[int], None] = lambda _episodes: None
) -> ArchivedRun:
    """Writes a run into an archive, from one consistent view; the ledger stays as it is.

    A run that lies there already is left as it is: what is there is then held against the ledger like any other.

    Args:
        store: the ledger; its namespace has no part in it.
        run_id: the run.
        archive: the archive's folder.
        progress: told after each episode how many have been copied.

    Raises:
        ConfigError: pyarrow is not installed.
        RecordNotFound: there is no such run.
        StorageError: the ledger can't be read, or the archive not be written.
    """
    check_pyarrow()
    try:
        there = next((run for run in archived_runs(archive) if run.run == run_id), None)
        if there is not None:
            return there
        writer = RunWriter(archive, run_id)
        try:
            return await store.run_read(lambda session: _copied(session, store, run_id, writer, progress))
        except BaseException:
            writer.abandon()
            raise
    except OSError as error:
        raise StorageError(
            f"{archive} can't be written: {error.strerror or error}.", do="Make room, or name another folder."
        ) from error


def _copied(
    session: Connection, store: SqlStore, run_id: str, writer: RunWriter, progress: Callable[[int], None]
) -> ArchivedRun:
    own = rows_of(session, OWN_RECORD, id=run_id)
    if not own:
        raise RecordNotFound(f"There is no run {run_id}.", do="List them:  groundwire show")
    bodies = _Bodies()
    for row in (*own, *rows_of(session, RUN_ENDS, id=run_id)):
        _add(writer, row)
    _add_links(session, writer, run_id, run_id, bodies)
    episodes = 0
    for episode_id in _episode_ids(session, run_id):
        _add_links(session, writer, run_id, episode_id, bodies)
        bodies.keys.setdefault(f"strength-{episode_id}")
        for row in rows_of_each(session, [episode_id])[episode_id]:
            _add(writer, row)
            bodies.named_by(row)
            if row.codec.table == "reflections":
                _add_marks(session, writer, unescape(row.values[0]))
        episodes += 1
        progress(episodes)
    for (key,) in _NOTES.rows(session, prefix=f"note-{run_id}-", length=len(f"note-{run_id}-")):
        bodies.keys.setdefault(unescape(key))
    for key in bodies.keys:
        for row in rows_of(session, ARTIFACT, id=key):
            _add(writer, row)
    columns = own[0].codec.columns
    return writer.close(
        namespace=unescape(own[0].namespace or ""),
        graph=unescape(str(own[0].values[columns.index("graph")])),
        created_at=str(own[0].values[columns.index("created_at")]),
        archived_at=now(),
        ledger=store.url,
        schema=current(session) or "",
        episodes=episodes,
    )


_NOTES = Sql("SELECT digest FROM artifacts WHERE substr(digest, 1, :length) = :prefix ORDER BY digest")
_LINKS, _MARKS = CODECS[Link], CODECS[LessonMark]
_MARKS_OF = Sql(f"SELECT seq, {names_of(_MARKS)}, namespace FROM {_MARKS.table} WHERE lesson_id = :lesson ORDER BY seq")


class _Bodies:
    """Keys of the artifacts that a run's records and links name, each once, in that order."""

    def __init__(self) -> None:
        self.keys: dict[str, None] = {}

    def linked_by(self, link: Link) -> None:
        body = LinkBody.read(link.body)
        for record in body.records if body is not None else ():
            if record.kind == Artifact.__name__:
                self.keys.setdefault(unescape(record.key))

    def named_by(self, row: KeptRow) -> None:
        for key in _keys_in(row):
            self.keys.setdefault(unescape(key))


def _keys_in(row: KeptRow) -> Iterator[str]:
    """As retention knows them; runs of version 0.1 have no links that name them."""

    def of(column: str) -> str:
        return str(row.values[row.codec.columns.index(column)])

    kind = row.codec.type
    if kind is CandidateRecord:
        yield of("artifact")
    elif kind is ProgramRun:
        yield of("candidate")
    elif kind is EpisodeRecord:
        yield f"tree-{of('base_digest')}"
    elif kind is Signal:
        yield f"coverage-{of('id')}"
    elif row.codec.table == "trials":
        for name in ("statistics", "experience"):
            yield f"{name}-{of('episode_id')}-{of('trial')}"


def _add(writer: RunWriter, row: KeptRow) -> None:
    namespace = () if row.namespace is None else (row.namespace,)
    writer.add(row.codec.table, (row.seq, *row.values, *namespace))


def _add_links(session: Connection, writer: RunWriter, run_id: str, of: str, bodies: _Bodies) -> None:
    for seq, link in links_of(session, run_id, of):
        writer.add(_LINKS.table, (seq, *_LINKS.encode(link)))
        bodies.linked_by(link)


def _add_marks(session: Connection, writer: RunWriter, lesson: str) -> None:
    for row in _MARKS_OF.rows(session, lesson=lesson):
        writer.add(_MARKS.table, tuple(row))


def _episode_ids(session: Connection, run_id: str) -> Iterator[str]:
    after = ""
    while page := EPISODE_IDS.rows(session, id=run_id, after=after, most=PAGE):
        for (episode_id,) in page:
            after = unescape(episode_id)
            yield after


# --- looking at what was written


async def check_archived(archive: Path, runs: Sequence[ArchivedRun]) -> Sequence[RunCheck]:
    """Reads archived runs back from the disk, restores them, and holds every record and seal against the links.

    Args:
        archive: its folder.
        runs: those to look at; the bodies that they share are looked for in all of them together.

    Raises:
        StorageError: a file can't be read, or is not what was written.
    """
    for run in runs:
        found = content_of(archive, run)
        if changed := [table for table, told in run.tables.items() if found[table] != told.content]:
            raise StorageError(
                f"What {archive / run.run} holds of {', '.join(changed)} is not what was read from the ledger.",
                do="Check the disk, remove that folder, and archive the run again; the ledger still has all of it.",
            )
    # beside the archive, where there is room for it
    with tempfile.TemporaryDirectory(prefix=".checking-", dir=archive) as folder:
        file = Path(folder) / "ledger.db"
        restore(archive, runs, file)
        async with aclosing(SqlStore(f"sqlite:///{file}")) as store:
            return [await check_run(store, run.run, keys=FileKeys(), keeps_episodes=False) for run in runs]


# --- taking out of the ledger


_OF_RUN = "episode_id IN (SELECT id FROM episodes WHERE run_id = :run)"
_REMOVED: Mapping[str, str] = {
    **dict.fromkeys(
        ("episode_ends", "trials", "candidates", "admissions", "intents", "model_calls", "program_runs"), _OF_RUN
    ),
    "signals": f"{_OF_RUN} AND id NOT IN (SELECT r.signal_id FROM reflections r WHERE r.{_OF_RUN})",
    "links": "run_id = :run",
    "run_ends": "run_id = :run",
    "runs": "id = :run",
}
_DELETE = {table: Sql(f"DELETE FROM {table} WHERE {condition}") for table, condition in _REMOVED.items()}
_BY_RUN = {"runs": "id = :run", **dict.fromkeys(("links", "run_ends", "episodes"), "run_id = :run")}
_COUNT = {
    codec.table: Sql(f"SELECT count(*) FROM {codec.table} WHERE {_BY_RUN.get(codec.table, _OF_RUN)}")
    for codec in CODECS.values()
    if codec.type not in (Artifact, LessonMark)
}
_HELD = (
    "SELECT artifact FROM candidates UNION ALL SELECT candidate FROM program_runs UNION ALL"
    " SELECT 'tree-' || e.base_digest FROM episodes e WHERE EXISTS (SELECT 1 FROM runs r WHERE r.id = e.run_id)"
)
_REMEMBER = Sql("INSERT INTO archived_keys (digest) VALUES (:digest) ON CONFLICT (digest) DO NOTHING")
_DELETE_BODIES = Sql(
    f"DELETE FROM artifacts WHERE digest IN (SELECT digest FROM archived_keys) AND digest NOT IN ({_HELD})"
)
_SHARED = Sql(
    "SELECT k.digest, min(u.episode_id) FROM archived_keys k JOIN ("
    "SELECT artifact AS digest, episode_id FROM candidates UNION ALL"
    " SELECT candidate, episode_id FROM program_runs UNION ALL"
    " SELECT 'tree-' || e.base_digest, e.id FROM episodes e WHERE EXISTS (SELECT 1 FROM runs r WHERE r.id = e.run_id)"
    ") u ON u.digest = k.digest GROUP BY k.digest ORDER BY k.digest"
)
_RUN_OF = Sql("SELECT run_id FROM episodes WHERE id = :id")
_ANY_LINK = Sql("SELECT 1 FROM links WHERE body LIKE :digest LIMIT 1")


async def remove_runs(store: SqlStore, archive: Path, runs: Sequence[ArchivedRun]) -> Mapping[str, int]:
    """Takes runs out of a ledger that an archive holds, in one transaction; bodies that other runs name stay.

    The heads that are noted outside of the ledger are from here on those of the archive.

    Args:
        store: the ledger.
        archive: the folder; it was looked at (`check_archived`).
        runs: what it says of them.

    Returns:
        How many rows were taken out, by table.

    Raises:
        StorageError: nothing was taken out: more has been written since, or another run rests on one of these.
    """
    keys = FileKeys()
    bodies = [archived_keys(archive, run) for run in runs]
    for run in runs:
        # first: a ledger that is ahead of what is noted is no harm, one that lacks what is noted of it is
        Heads(keys.heads_file(run.run)).moved_to(archive_name(archive))
    try:
        return await store.run_write(lambda session: _taken_out(session, runs, bodies))
    except BaseException:
        for run in runs:
            Heads(keys.heads_file(run.run)).moved_to(store.url)
        raise


def _taken_out(session: Connection, runs: Sequence[ArchivedRun], bodies: Sequence[Sequence[str]]) -> dict[str, int]:
    for run in runs:
        _refuse_what_grew(session, run)
    totals: dict[str, int] = {}
    for run in runs:
        for table, statement in _DELETE.items():
            totals[table] = totals.get(table, 0) + statement.change(session, run=run.run)
    session.exec_driver_sql("CREATE TEMPORARY TABLE archived_keys (digest text PRIMARY KEY)")
    for keys in bodies:
        _REMEMBER.change_each(session, [{"digest": key} for key in keys])
    _refuse_what_others_rest_on(session)
    totals["artifacts"] = _DELETE_BODIES.change(session)
    session.exec_driver_sql("DROP TABLE archived_keys")
    return {table: count for table, count in totals.items() if count}


def _refuse_what_grew(session: Connection, run: ArchivedRun) -> None:
    for table, statement in _COUNT.items():
        there = statement.rows(session, run=run.run)[0][0]
        told = run.tables[table].rows if table in run.tables else 0
        if there != told:
            raise StorageError(
                f"Run {run.run} has {there} rows of {table}, and the archive has {told}: nothing was taken out.",
                do="Remove the run's folder from the archive and archive it again, once nothing writes to it.",
            )


def _refuse_what_others_rest_on(session: Connection) -> None:
    """A body that two runs wrote, each in its own form, lies there in the first one's, which its link alone vouches
    for (`_checking`): without it the other run would seem changed."""
    for key, episode_id in _SHARED.rows(session):
        kept = rows_of(session, ARTIFACT, id=unescape(key))
        if not kept:
            continue
        run_id = unescape(_RUN_OF.rows(session, id=unescape(episode_id))[0][0])
        digest = kept[0].covered.digest
        links = [LinkBody.read(link.body) for _, link in links_of(session, run_id, unescape(episode_id))]
        said = [one for body in links if body for one in body.records if one.kind == Artifact.__name__]
        own = [one for one in said if unescape(one.key) == unescape(key)]
        if not own or any(one.digest == digest for one in own):
            continue
        if not _ANY_LINK.rows(session, digest=f"%{digest}%"):
            raise StorageError(
                f"Nothing was taken out: run {run_id} rests on a body that one of these wrote ({unescape(key)[:40]}).",
                do="Archive both together.",
            )
