"""One database, two tenants: nothing that one wrote is seen through a store of the other."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any

import pytest
from remembering import MINT, RUN, episode_of, learn, outcome, reflection_for, signal_for, texts

from groundwire.core._contexts import EditStatistics
from groundwire.core._errors import RecordNotFound
from groundwire.core._records import (
    Admission,
    CandidateRecord,
    EpisodeEnd,
    LessonMark,
    Mark,
    ModelCall,
    Recall,
    RunRecord,
    StopReason,
    TrialEnd,
)
from groundwire.core._signals import Observation, Origin, Verdict
from groundwire.memory import SqlStore
from groundwire.memory._lessons import Lessons
from groundwire.memory._policy import State
from groundwire.memory._retention import count_old, drop_old, old_quarantined, size_of
from groundwire.memory._transfer import export_lessons, import_lessons

SECRET = "the bakery's discount of Anna is 17 percent"


@pytest.fixture
async def anna(url: str) -> AsyncIterator[SqlStore]:
    made = SqlStore(url, namespace="anna")
    yield made
    await made.aclose()


@pytest.fixture
async def bert(url: str, anna: SqlStore) -> AsyncIterator[SqlStore]:
    """The other tenant of the same database, after Anna wrote what she knows."""
    await anna.append(RUN)
    made = SqlStore(url, namespace="bert")
    yield made
    await made.aclose()


async def test_lessons_do_not_cross(anna: SqlStore, bert: SqlStore) -> None:
    lesson = await learn(anna, SECRET, signature="KeyError", frames=("a.py:f",))
    asked: dict[str, Any] = {"signature": "KeyError", "frames": ("a.py:f",), "text": SECRET, "window": 9}
    for task in ("task", "another"):
        assert await texts(bert, task, **asked) == []
        assert await texts(anna, task, **asked) == [SECRET]
    assert await bert.lessons([lesson.id]) == []
    lessons = Lessons(bert)
    assert await lessons.list() == await lessons.search(SECRET) == await lessons.measured() == []
    assert await lessons.same_as([lesson.id]) == []
    with pytest.raises(RecordNotFound):
        await lessons.show(lesson.id)
    with pytest.raises(RecordNotFound):
        await lessons.find([lesson.id[:12]])


async def test_records_do_not_cross(anna: SqlStore, bert: SqlStore) -> None:
    episode = episode_of()
    signal = signal_for(episode.id)
    admission = Admission(
        episode_id=episode.id,
        trial=1,
        signal_id=signal.id,
        candidate_digest="candidate",
        edge="refine",
        admitted=True,
    )
    call = ModelCall(
        intent_id="i", episode_id=episode.id, trial=1, model="m", request_digest="asked", completion='{"texts":["x"]}'
    )
    await anna.append(episode, signal, admission, call)
    assert len(await anna.records(episode.id)) == 4
    assert await anna.admitted(signal.id) == admission
    assert await anna.judgements("candidate") == [signal]
    assert len(await anna.answers("asked")) == 1

    assert await bert.runs() == await bert.episodes(RUN.id) == await bert.records(episode.id) == []
    assert await bert.judgements("candidate") == await bert.answers("asked") == []
    assert await bert.admitted(signal.id) is None
    with pytest.raises(RecordNotFound):
        await bert.signal(signal.id)


async def test_statistics_do_not_cross(anna: SqlStore, bert: SqlStore) -> None:
    episode = episode_of()
    seen = Observation(verdict=Verdict.PASS, origin=Origin.TESTS, exit_code=0)
    signal = MINT.signal(seen, episode_id=episode.id, trial=1, issuer="test", candidate_digest="candidate")
    await anna.append(
        episode,
        CandidateRecord(episode_id=episode.id, trial=1, digest="candidate", edits=("compare.boundary",)),
        signal,
        TrialEnd(episode_id=episode.id, trial=1, verdict=Verdict.PASS),
    )
    assert (await anna.edit_statistics("family", "")).overall == {"compare.boundary": (1, 1)}
    assert await bert.edit_statistics("family", "") == EditStatistics()
    lessons = Lessons(bert)
    assert await lessons.states() == {}
    assert [await lessons.rates(scope) for scope in ("all", "family", "task")] == [[], [], []]
    rows = (await size_of(bert)).rows
    assert sum(rows.values()) == 0
    assert (await size_of(anna)).rows["signals"] == 1


async def test_one_tenants_outcomes_do_not_measure_the_others_lessons(anna: SqlStore, bert: SqlStore) -> None:
    lesson = await learn(anna, SECRET)
    for _ in range(10):
        await outcome(bert, [], passed=True)
    for _ in range(10):
        await outcome(bert, [lesson.id], passed=False)
    view = await Lessons(anna).show(lesson.id)
    assert (view.info.state, view.info.standing.trials) == (State.ACTIVE, 0)
    assert view.recalled == [], "nor is it told of the other's episodes"


async def test_one_tenant_decides_nothing_for_the_other(anna: SqlStore, bert: SqlStore) -> None:
    lesson = await learn(anna, SECRET)
    for mark in Mark:
        await bert.append(LessonMark(lesson_id=lesson.id, mark=mark))
    await Lessons(bert).forget([lesson.id])
    assert await texts(anna) == [SECRET]
    view = await Lessons(anna).show(lesson.id)
    assert view.marks == [] and view.info.state is State.ACTIVE
    await anna.append(lesson)
    assert await texts(anna) == [SECRET], "not forgotten here"


async def test_what_says_the_same_is_not_linked_across(anna: SqlStore, bert: SqlStore) -> None:
    first = await learn(anna, SECRET)
    await anna.append(LessonMark(lesson_id=first.id, mark=Mark.QUARANTINED))
    own = await learn(bert, SECRET)
    view = await Lessons(bert).show(own.id)
    assert (view.info.state, view.info.root, view.same) == (State.ACTIVE, own.id, [])


async def test_an_echo_is_one_of_the_tenants_own_lessons(anna: SqlStore, bert: SqlStore) -> None:
    theirs = await learn(anna, SECRET)
    episode = episode_of("new")
    signal = signal_for(episode.id)
    own = reflection_for(signal, SECRET, "new", "family")
    await bert.append(episode, Recall(episode_id=episode.id, trial=1, lesson_id=theirs.id, rank=1), signal, own)
    assert (await Lessons(bert).show(own.id)).info.state is State.ACTIVE


async def exported(store: SqlStore) -> list[str]:
    return [line async for line in export_lessons(store)]


async def test_files_hold_one_tenants_lessons_and_bring_a_copy(anna: SqlStore, bert: SqlStore) -> None:
    lesson = await learn(anna, SECRET)
    assert len(await exported(bert)) == 1, "the head alone"
    lines = await exported(anna)
    done = await import_lessons(bert, lines)
    assert (done.read, done.known, done.unbacked) == (1, 0, 0)
    assert (await import_lessons(bert, lines)).known == 1
    (copy,) = await Lessons(bert).list()
    assert copy.reflection.id != lesson.id and copy.reflection.text == SECRET
    await Lessons(bert).forget([copy.reflection.id])
    assert await texts(bert) == [] and await texts(anna) == [SECRET]
    assert json.loads(lines[1])["reflection"] == json.loads(json.dumps(asdict(lesson)))


async def test_retention_drops_the_tenants_own_rows(anna: SqlStore, bert: SqlStore) -> None:
    episode = episode_of()
    lesson = await learn(anna, SECRET)
    old = "2020-01-01T00:00:00.000000+00:00"
    await anna.append(
        episode,
        signal_for(episode.id),
        EpisodeEnd(episode_id=episode.id, verdict=Verdict.FAIL, stop_reason=StopReason.EXHAUSTED, created_at=old),
        LessonMark(lesson_id=lesson.id, mark=Mark.QUARANTINED, created_at=old),
    )
    assert await count_old(bert, days=1) == await drop_old(bert, days=1) == {}
    assert await old_quarantined(bert, days=1) == []
    assert await count_old(anna, days=1) == {"signals": 1}
    assert await old_quarantined(anna, days=1) == [lesson.id]


async def test_a_name_is_a_name(url: str) -> None:
    """No pattern, no prefix, no SQL."""
    stores = {name: SqlStore(url, namespace=name) for name in ("", "a", "A", "a%", "a' OR '1'='1", "a\x00")}
    for name, store in stores.items():
        await store.append(RunRecord(graph=name or "unnamed"))
        await learn(store, f"of {name!r}")
    for name, store in stores.items():
        assert [run.graph for run in await store.runs()] == [name or "unnamed"]
        assert await texts(store) == [f"of {name!r}"]
        await store.aclose()
