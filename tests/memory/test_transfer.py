"""Lessons out to a file and in again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from remembering import MINT, learn, outcome, reflection_for, signal_for, texts

from groundwire.core._errors import ConfigError
from groundwire.core._records import LessonMark, Mark
from groundwire.core._signals import Verdict
from groundwire.memory import SqlStore
from groundwire.memory._lessons import Lessons
from groundwire.memory._policy import State
from groundwire.memory._transfer import BATCH, FORMAT, VERSION, export_lessons, import_lessons

HEAD = json.dumps({"format": FORMAT, "version": VERSION})


@pytest.fixture
async def ledger(url: str) -> AsyncIterator[SqlStore]:
    made = SqlStore(url)
    yield made
    await made.aclose()


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[SqlStore]:
    """Another database."""
    made = SqlStore(f"sqlite:///{tmp_path}/other.db")
    yield made
    await made.aclose()


async def exported(store: SqlStore) -> list[str]:
    return [line async for line in export_lessons(store)]


async def test_lessons_come_in_as_they_went_out(ledger: SqlStore, other: SqlStore) -> None:
    text = "NUL \x00, lone \ud800, \u2028, quote ' \" \\ % \U0001f9ea"
    first = await learn(ledger, text, raw="said by a person", frames=("a.py:f",), signature="KeyError")
    quarantined = await learn(ledger, "A harmful one.")
    await learn(ledger, "a harmful one", task="other")
    await ledger.append(LessonMark(lesson_id=quarantined.id, mark=Mark.QUARANTINED, reason="harm", by="me"))
    lines = await exported(ledger)
    assert json.loads(lines[0]) == {"format": FORMAT, "version": VERSION}
    assert all("\n" not in line for line in lines)
    done = await import_lessons(other, [f"{line}\n" for line in lines])
    assert (done.read, done.known, done.unbacked) == (3, 0, 0)
    view = await Lessons(other).show(first.id)
    assert view.info.reflection == first
    assert view.signal is not None
    MINT.verify(view.signal)
    assert await texts(other, signature="KeyError") == await texts(ledger, signature="KeyError") == [text]
    assert (await Lessons(other).show(quarantined.id)).marks[0].reason == "harm"
    assert await exported(other) == lines


async def test_importing_twice_changes_nothing(ledger: SqlStore, other: SqlStore) -> None:
    lesson = await learn(ledger, "Once.")
    lines = await exported(ledger)
    await import_lessons(other, lines)
    await other.append(LessonMark(lesson_id=lesson.id, mark=Mark.QUARANTINED))
    done = await import_lessons(other, lines)
    assert (done.read, done.known) == (1, 1)
    assert (await Lessons(other).show(lesson.id)).info.state is State.QUARANTINED


async def test_what_was_forgotten_does_not_come_back(ledger: SqlStore, other: SqlStore) -> None:
    lesson = await learn(ledger, "Something private.")
    lines = await exported(ledger)
    await import_lessons(other, lines)
    await Lessons(other).forget([lesson.id])
    await import_lessons(other, lines)
    assert await texts(other) == []


async def test_measures_stay_with_the_ledger_that_has_the_trials(ledger: SqlStore, other: SqlStore) -> None:
    lesson = await learn(ledger, "Measured here.")
    await outcome(ledger, [lesson.id], passed=True)
    await import_lessons(other, await exported(ledger))
    assert (await Lessons(other).show(lesson.id)).info.standing.trials == 0


async def test_text_without_a_failing_signal_is_kept_and_never_recalled(other: SqlStore) -> None:
    signal = signal_for("an episode elsewhere")
    passed = signal_for("an episode elsewhere", verdict=Verdict.PASS)
    lines = [HEAD]
    for number, (known, sent) in enumerate([(signal, None), (passed, passed)]):
        reflection = reflection_for(known, f"Only claimed, number {number}.", "task", "family")
        lines.append(line_of(reflection, sent))
    done = await import_lessons(other, lines)
    assert (done.read, done.known, done.unbacked) == (2, 0, 2)
    assert await texts(other) == []
    assert len(await exported(other)) == 1, "what is no lesson does not travel on"


async def test_many(ledger: SqlStore, other: SqlStore) -> None:
    for number in range(BATCH + 5):
        await learn(ledger, f"the lesson of number {number}", task=f"t{number}")
    lines = await exported(ledger)
    assert len(lines) == BATCH + 6
    done = await import_lessons(other, lines)
    assert (done.read, done.known) == (BATCH + 5, 0)
    assert len(await Lessons(other).list(limit=1000)) == BATCH + 5


def line_of(reflection: Any, signal: Any, **more: Any) -> str:
    from dataclasses import asdict

    body = json.loads(signal.to_json()) if signal else None
    return json.dumps({"reflection": asdict(reflection), "signal": body, **more})


def good() -> dict[str, Any]:
    signal = signal_for("an episode")
    return json.loads(line_of(reflection_for(signal, "text", "task", "family"), signal))


def with_(path: str, value: Any) -> str:
    data = good()
    *folders, name = path.split(".")
    place = data
    for folder in folders:
        place = place[folder]
    place[name] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("no json", "Expecting value"),
        ("[1]", ""),
        ("{}", "reflection"),
        (with_("reflection", None), "not an object"),
        (with_("reflection.text", 5), "text is not of the type str"),
        (with_("reflection.trial", "1"), "trial is not of the type int"),
        (with_("reflection.trial", True), "trial is not of the type int"),
        (with_("reflection.frames", "a.py"), "frames is not a list of texts"),
        (with_("reflection.more", "x"), "more"),
        (with_("signal.id", "another"), "another one than its reflection names"),
        (with_("signal.verdict", "maybe"), ""),
        (with_("marks", [{"lesson_id": "x", "mark": "praised"}]), "praised"),
        (with_("marks", 3), ""),
        ("[" * 100_000, ""),
        (" " * 4_000_001 + "x", "longer than"),
    ],
    ids=range(15),
)
async def test_a_wrong_line_is_named(other: SqlStore, line: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=f"Line 2 is not a lesson: .*{problem}") as caught:
        await import_lessons(other, [HEAD, line])
    assert caught.value.do
    assert len(str(caught.value)) < 500
    assert await Lessons(other).list() == []


@pytest.mark.parametrize("head", ["", "{}", "[]", "1", "null", '{"format": "groundwire.lessons", "version": 2}', "x"])
async def test_another_kind_of_file_is_refused(other: SqlStore, head: str) -> None:
    with pytest.raises(ConfigError, match="does not say that these are lessons"):
        await import_lessons(other, [head, json.dumps(good())])


async def test_an_empty_file_is_refused(other: SqlStore) -> None:
    with pytest.raises(ConfigError, match="does not say that these are lessons"):
        await import_lessons(other, [])


async def test_marks_of_other_lessons_do_not_come_along(ledger: SqlStore) -> None:
    mine = await learn(ledger, "Mine, and active.")
    data = good()
    data["marks"] = [
        {"lesson_id": mine.id, "mark": "forgotten"},
        {"lesson_id": mine.id, "mark": "quarantined"},
        {"lesson_id": data["reflection"]["id"], "mark": "forgotten"},
    ]
    await import_lessons(ledger, [HEAD, json.dumps(data)])
    assert sorted(await texts(ledger)) == ["Mine, and active.", "text"]
