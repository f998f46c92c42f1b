"""Runs out of a ledger into an archive: bodies that others share stay, and several ledgers may have one folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from remembering import reflection_for, signal_for, texts

from groundwire.core._errors import ConfigError, RecordNotFound, StorageError
from groundwire.core._records import (
    Artifact,
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    ModelCall,
    ProgramRun,
    Record,
    RunRecord,
    StopReason,
    TrialEnd,
    TrialRecord,
    tree_key,
)
from groundwire.core._signals import Verdict
from groundwire.memory import SqlStore
from groundwire.memory._archive import check_archived, copy_run, ended_before, open_episodes, remove_runs
from groundwire.memory._archive_files import archived_runs

OLD, CUT = "2020-01-01T00:00:00.000000+00:00", "2021-01-01T00:00:00.000000+00:00"
ODD = "NUL \x00, a lone surrogate \ud800, and \x1a1a; in one text"


@pytest.fixture
async def ledger(url: str) -> AsyncIterator[SqlStore]:
    made = SqlStore(url)
    yield made
    await made.aclose()


def worked(body: str, *, ends: str | None = OLD) -> tuple[RunRecord, EpisodeRecord, list[Record]]:
    """A run of one episode, with a body of its own and one that all share."""
    run = RunRecord(graph="g", created_at=OLD)
    episode = EpisodeRecord(run_id=run.id, task_id="task", family="family", base_digest="base", created_at=OLD)
    place: dict[str, Any] = {"episode_id": episode.id, "trial": 1}
    lesson = signal_for(episode.id)
    records: list[Record] = [
        run,
        episode,
        Artifact(digest=tree_key("base"), kind="tree", body=b"the files"),
        TrialRecord(**place),
        ModelCall(**place, intent_id="i", model="m", request_digest="r", completion=f'{{"texts":["{body}"]}}'),
        ProgramRun(**place, intent_id="p", request_digest="p", stdout=ODD, cut_off=True),
        CandidateRecord(**place, digest=f"digest-{body}", artifact=body),
        Artifact(digest=body, kind="candidate", body=b"\x00 its own"),
        CandidateRecord(**place, digest="digest-shared", artifact="shared"),
        Artifact(digest="shared", kind="candidate", body=b"of all"),
        Artifact(digest=f"strength-{episode.id}", kind="strength", body=b"{}"),
        Artifact(digest=f"note-{run.id}-1", kind="note", body=b"{}"),
        lesson,
        reflection_for(lesson, f"The lesson of {body}, and nothing else.", "task", "family"),
        TrialEnd(**place, verdict=Verdict.FAIL),
    ]
    if ends is not None:
        records.append(
            EpisodeEnd(episode_id=episode.id, verdict=Verdict.FAIL, stop_reason=StopReason.EXHAUSTED, created_at=ends)
        )
    return run, episode, records


def list_folders(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir()]


async def test_what_others_share_stays_and_the_rest_is_in_the_archive_alone(ledger: SqlStore, tmp_path: Path) -> None:
    (run, episode, first), (other, _, second) = worked("one"), worked("two")
    await ledger.append(*first)
    await ledger.append(*second)
    before, lessons = await ledger.records(episode.id), await texts(ledger)
    made = await copy_run(ledger, run.id, tmp_path)
    assert (made.episodes, made.graph, made.run) == (1, "g", run.id)
    assert archived_runs(tmp_path) == [made]
    assert [check.run_id for check in await check_archived(tmp_path, [made])] == [run.id]
    removed = await remove_runs(ledger, tmp_path, [made])
    assert removed["artifacts"] == 3, "its own, its strength and its note"
    for key in (tree_key("base"), "shared", "two"):
        assert await ledger.artifact(key)
    with pytest.raises(RecordNotFound):
        await ledger.artifact("one")
    assert [found.id for found in await ledger.runs()] == [other.id]
    assert await texts(ledger) == lessons
    assert [type(record).__name__ for record in await ledger.records(episode.id)] == [
        "EpisodeRecord", "Signal", "ReflectionRecord", "TrialEnd",
    ]  # fmt: skip

    async with aclosing(SqlStore(f"archive:{tmp_path}")) as archive:
        assert await archive.records(episode.id) == before
        for record in first:
            if isinstance(record, Artifact):
                assert await archive.artifact(record.digest) == record.body
        with pytest.raises(StorageError, match="is an archive"):
            await archive.append(*second)
    # the second one takes the shared ones with it
    await remove_runs(ledger, tmp_path, [await copy_run(ledger, other.id, tmp_path)])
    with pytest.raises(RecordNotFound):
        await ledger.artifact("shared")
    async with aclosing(SqlStore(f"archive:{tmp_path}")) as archive:
        assert {found.id for found in await archive.runs()} == {run.id, other.id}
        assert await archive.records(episode.id) == before


async def test_two_ledgers_that_gave_the_same_numbers_share_a_folder(tmp_path: Path) -> None:
    there: list[tuple[EpisodeRecord, Any]] = []
    folder = tmp_path / "archive"
    for name in ("a", "b"):
        async with aclosing(SqlStore(f"sqlite:///{tmp_path}/{name}.db")) as ledger:
            run, episode, records = worked(name)
            await ledger.append(*records)
            there.append((episode, await ledger.records(episode.id)))
            await copy_run(ledger, run.id, folder)
    async with aclosing(SqlStore(f"archive:{folder}")) as archive:
        for episode, records in there:
            assert await archive.records(episode.id) == records


async def test_only_what_is_over_is_chosen_by_date(ledger: SqlStore) -> None:
    (over, _, first), (still, _, second), (later, _, third) = worked("1"), worked("2", ends=None), worked("3", ends=CUT)
    for records in (first, second, third):
        await ledger.append(*records)
    assert await ended_before(ledger, CUT) == [over.id]
    assert await ended_before(ledger, "2999") == [over.id, later.id]
    assert [await open_episodes(ledger, run.id) for run in (over, still)] == [0, 1]


async def test_what_is_written_to_a_run_after_it_was_copied_is_not_lost(ledger: SqlStore, tmp_path: Path) -> None:
    run, episode, records = worked("one")
    await ledger.append(*records)
    made = await copy_run(ledger, run.id, tmp_path)
    await ledger.append(TrialRecord(episode_id=episode.id, trial=2))
    with pytest.raises(StorageError, match="nothing was taken out"):
        await remove_runs(ledger, tmp_path, [made])
    assert [found.id for found in await ledger.runs()] == [run.id]


async def test_a_copy_that_failed_leaves_nothing(ledger: SqlStore, tmp_path: Path) -> None:
    run, _, records = worked("one")
    await ledger.append(*records)

    def stop(_episodes: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await copy_run(ledger, run.id, tmp_path, progress=stop)
    assert not list_folders(tmp_path)
    with pytest.raises(ConfigError, match="Nothing is archived"):
        SqlStore(f"archive:{tmp_path}")


@pytest.mark.parametrize("name", ["../outside", ".hidden", "/tmp/absolute", ".."])
async def test_a_run_of_a_stranger_s_ledger_names_no_folder_elsewhere(name: str, tmp_path: Path) -> None:
    async with aclosing(SqlStore(f"sqlite:///{tmp_path}/ledger.db")) as ledger:
        await ledger.append(RunRecord(id=name, graph="g"))
        with pytest.raises(StorageError, match="name of a folder"):
            await copy_run(ledger, name, tmp_path / "archive")
    assert not (tmp_path / "outside").exists()


async def test_a_manifest_that_names_another_folder_is_refused(ledger: SqlStore, tmp_path: Path) -> None:
    run, _, records = worked("one")
    await ledger.append(*records)
    await copy_run(ledger, run.id, tmp_path)
    manifest = tmp_path / run.id / "archive.json"
    manifest.write_text(manifest.read_text().replace(f'"run": "{run.id}"', '"run": "../elsewhere"'))
    with pytest.raises(StorageError, match="not about this folder"):
        archived_runs(tmp_path)


async def test_runs_of_an_older_schema_are_read_beside_those_of_today(ledger: SqlStore, tmp_path: Path) -> None:
    there: list[tuple[EpisodeRecord, Any]] = []
    for schema in ("0005", "0006"):
        run, episode, records = worked(schema)
        await ledger.append(*records)
        there.append((episode, await ledger.records(episode.id)))
        made = await copy_run(ledger, run.id, tmp_path)
        manifest = tmp_path / run.id / "archive.json"
        manifest.write_text(manifest.read_text().replace(f'"schema": "{made.schema}"', f'"schema": "{schema}"'))
    async with aclosing(SqlStore(f"archive:{tmp_path}")) as archive:
        for episode, records in there:
            assert await archive.records(episode.id) == records
    manifest.write_text(manifest.read_text().replace('"schema": "0006"', '"schema": "9999"'))
    async with aclosing(SqlStore(f"archive:{tmp_path}")) as archive:
        with pytest.raises(StorageError, match="newer groundwire"):
            await archive.runs()
