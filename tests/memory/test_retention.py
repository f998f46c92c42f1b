"""What a retention rule drops, and all that it keeps."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from remembering import episode_of, learn, outcome, reflection_for, signal_for, texts

from groundwire.core._errors import RecordNotFound
from groundwire.core._records import (
    Admission,
    Artifact,
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    Intent,
    LessonMark,
    Mark,
    ModelCall,
    ProgramRun,
    Record,
    StopReason,
    TrialEnd,
    TrialRecord,
)
from groundwire.core._signals import Signal, Verdict
from groundwire.memory import SqlStore
from groundwire.memory._lessons import Lessons
from groundwire.memory._retention import compact, count_old, drop_old, old_quarantined, size_of

OLD = "2020-01-01T00:00:00.000000+00:00"


@pytest.fixture
async def ledger(url: str) -> AsyncIterator[SqlStore]:
    made = SqlStore(url)
    yield made
    await made.aclose()


def ended(episode: EpisodeRecord, **fields: Any) -> EpisodeEnd:
    return EpisodeEnd(episode_id=episode.id, verdict=Verdict.FAIL, stop_reason=StopReason.EXHAUSTED, **fields)


def worked(episode: EpisodeRecord, body: str) -> list[Record]:
    """All kinds of records of one trial: one signal with a lesson behind it, one without."""
    place: dict[str, Any] = {"episode_id": episode.id, "trial": 1}
    lesson, other = signal_for(episode.id), signal_for(episode.id)
    intent = Intent(**place, kind="model_call", digest="request", body="a long prompt")
    return [
        episode,
        TrialRecord(**place),
        intent,
        Intent(**place, kind="hidden_access", digest="hidden"),
        ModelCall(**place, intent_id=intent.id, model="m", request_digest="request", completion='{"texts":["x"]}'),
        ProgramRun(**place, intent_id="p", request_digest="p", candidate=f"made-{body}"),
        CandidateRecord(**place, digest=f"digest-{body}", artifact=body),
        Artifact(digest=body, kind="candidate", body=b"the body"),
        Artifact(digest=f"made-{body}", kind="candidate", body=b"what the program made"),
        Artifact(digest=f"coverage-{lesson.id}", kind="coverage", body=b"{}"),
        Artifact(digest=f"statistics-{episode.id}-1", kind="edit_statistics", body=b"[]"),
        Artifact(digest=f"experience-{episode.id}-1", kind="experience", body=b"[]"),
        lesson,
        other,
        Admission(**place, signal_id=lesson.id, candidate_digest="candidate", edge="refine", admitted=True),
        reflection_for(lesson, f"The lesson of {body}, and nothing else.", "task", "family"),
        TrialEnd(**place, verdict=Verdict.FAIL),
    ]


async def test_bodies_of_old_episodes_go_and_what_was_learned_stays(ledger: SqlStore) -> None:
    old, young, open_one = episode_of(), episode_of(), episode_of()
    await ledger.append(*worked(old, "old"), ended(old, created_at=OLD))
    await ledger.append(*worked(young, "young"), ended(young))
    await ledger.append(*worked(open_one, "open"))
    dropped = {"artifacts": 5, "signals": 1, "intents": 1, "model_calls": 1, "program_runs": 1, "admissions": 1}
    assert await count_old(ledger, days=30) == dropped
    assert await drop_old(ledger, days=30) == dropped
    assert await drop_old(ledger, days=30) == {}

    left = [type(record).__name__ for record in await ledger.records(old.id)]
    assert left == [
        *["EpisodeRecord", "TrialRecord", "Intent", "CandidateRecord", "Signal", "ReflectionRecord", "TrialEnd"],
        "EpisodeEnd",
    ]
    (kept,) = [record for record in await ledger.records(old.id) if isinstance(record, Signal)]
    lessons = {info.reflection.text: info.reflection for info in await Lessons(ledger).list()}
    assert lessons["The lesson of old, and nothing else."].signal_id == kept.id
    assert len(await texts(ledger)) == 3
    for body in ("old", "made-old", f"coverage-{kept.id}", f"statistics-{old.id}-1", f"experience-{old.id}-1"):
        with pytest.raises(RecordNotFound):
            await ledger.artifact(body)
    for episode, body in ((young, "young"), (open_one, "open")):
        assert len(await ledger.records(episode.id)) >= 12
        assert await ledger.artifact(body) == b"the body"
        assert await ledger.artifact(f"made-{body}") == b"what the program made"
        assert await ledger.artifact(f"statistics-{episode.id}-1") == b"[]"


async def test_a_body_that_a_younger_episode_shares_stays(ledger: SqlStore) -> None:
    for end in ({"created_at": OLD}, {}):
        episode = episode_of()
        await ledger.append(*worked(episode, "shared"), ended(episode, **end))
    dropped = await drop_old(ledger, days=30)
    assert dropped["artifacts"] == 3, "coverage, statistics and experience are each episode's own"
    assert await ledger.artifact("shared") == b"the body"
    assert await ledger.artifact("made-shared") == b"what the program made"


async def test_an_episode_that_was_resumed_is_as_old_as_its_last_end(ledger: SqlStore) -> None:
    episode = episode_of()
    await ledger.append(*worked(episode, "resumed"), ended(episode, created_at=OLD), ended(episode))
    assert await count_old(ledger, days=30) == {}


async def test_old_quarantine(ledger: SqlStore) -> None:
    old, young, free = [await learn(ledger, f"lesson of the number {n}") for n in range(3)]
    twin = await learn(ledger, "Lesson of the number 0!", task="other")
    await ledger.append(
        LessonMark(lesson_id=old.id, mark=Mark.QUARANTINED, created_at=OLD),
        LessonMark(lesson_id=young.id, mark=Mark.QUARANTINED),
        LessonMark(lesson_id=free.id, mark=Mark.QUARANTINED, created_at=OLD),
        LessonMark(lesson_id=free.id, mark=Mark.RELEASED),
    )
    assert await old_quarantined(ledger, days=30) == [old.id, twin.id]


async def test_compacting_gives_space_back_and_changes_nothing(ledger: SqlStore) -> None:
    episode = episode_of()
    body = Artifact(digest="large", kind="candidate", body=os.urandom(2_000_000))
    place: dict[str, Any] = {"episode_id": episode.id, "trial": 1}
    await ledger.append(
        episode, body, CandidateRecord(**place, digest="d", artifact="large"), ended(episode, created_at=OLD)
    )
    await learn(ledger, "What was learned.")
    await outcome(ledger, [], passed=True)
    before = (await size_of(ledger)).bytes
    assert await drop_old(ledger, days=30) == {"artifacts": 1}
    for _ in range(20):  # a transaction of another test on the same server may still see the old rows
        await compact(ledger)
        if (await size_of(ledger)).bytes < before - 1_000_000:
            break
        await asyncio.sleep(0.5)
    assert (await size_of(ledger)).bytes < before - 1_000_000
    assert await texts(ledger) == ["What was learned."]


async def test_a_forgotten_text_is_gone_from_the_disk(tmp_path: Path) -> None:
    ledger = SqlStore(f"sqlite:///{tmp_path}/ledger.db")
    lesson = await learn(ledger, "Their name is Rumpelstiltskin, which nobody knows.")
    kept = await learn(ledger, "The bound is exclusive.")
    await Lessons(ledger).forget([lesson.id])
    await compact(ledger)
    assert await texts(ledger) == [kept.text]
    assert [info.reflection.text for info in await Lessons(ledger).search("exclusive")] == [kept.text]
    assert b"umpelstiltskin" not in _on_disk(tmp_path)
    await ledger.aclose()


def _on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def test_rows_are_counted_by_table(ledger: SqlStore) -> None:
    episode = episode_of()
    await ledger.append(*worked(episode, "body"))
    rows = (await size_of(ledger)).rows
    assert {table: count for table, count in rows.items() if count} == {
        "episodes": 1,
        "trials": 1,
        "trial_ends": 1,
        "intents": 2,
        "model_calls": 1,
        "program_runs": 1,
        "candidates": 1,
        "artifacts": 1,
        "signals": 2,
        "admissions": 1,
        "reflections": 1,
    }
