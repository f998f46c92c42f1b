"""`groundwire memory …` as a person and as a script use it, on a ledger that the tests seed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from remembering import RUN, episode_of, learn, outcome, signal_for, texts
from typer.testing import CliRunner, Result

from groundwire.cli.commands._app import app
from groundwire.core._errors import ConfigError, GroundwireError, RecordNotFound, StorageError
from groundwire.core._records import EpisodeEnd, LessonMark, Mark, ReflectionRecord, StopReason
from groundwire.core._signals import Verdict
from groundwire.memory import SqlStore

OLD = "2020-01-01T00:00:00.000000+00:00"


class Memory:
    """The command in this process, and the ledger that it works on."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __call__(self, *arguments: str, typed: str = "") -> Result:
        return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["memory", *arguments, "--db", self.url], input=typed)

    def data(self, *arguments: str) -> Any:
        ran = self(*arguments, "--json")
        assert ran.exit_code == 0, ran.output
        return json.loads(ran.stdout)

    def run(self, work: Callable[[SqlStore], Awaitable[object]], namespace: str = "") -> None:
        async def inside() -> None:
            store = SqlStore(self.url, namespace=namespace)
            await work(store)
            await store.aclose()

        asyncio.run(inside())


@pytest.fixture
def memory(url: str) -> Memory:
    return Memory(url)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path}/ledger.db"


@pytest.fixture
def lessons(memory: Memory) -> Iterator[list[ReflectionRecord]]:
    """Three of one family, the first one twice; the second was recalled once, and the trial passed."""
    made: list[ReflectionRecord] = []

    async def seed(store: SqlStore) -> None:
        made.append(await learn(store, "The upper bound is exclusive.", task="dates", raw="the last day is missing"))
        made.append(await learn(store, "A discount is a fraction, not a percentage.", task="prices", by="critic"))
        made.append(await learn(store, "the UPPER bound is exclusive", task="dates"))
        made.append(await learn(store, "Escape \x1b[31mthis\x1b[0m.", task="\x1b]0;title\x07", family="hostile"))
        await outcome(store, [made[1].id], passed=True, task="prices")

    memory.run(seed)
    yield made


def test_list(memory: Memory, lessons: list[ReflectionRecord]) -> None:
    listed = memory.data("list")
    assert [entry["id"] for entry in listed] == [lesson.id for lesson in reversed(lessons)]
    assert [entry["state"] for entry in listed] == ["active", "repeat", "active", "active"]
    assert listed[2]["trials"] == listed[2]["passed"] == 1 and listed[2]["effect"] > 0
    assert [entry["id"] for entry in memory.data("list", "--state", "repeat")] == [lessons[2].id]
    assert len(memory.data("list", "--family", "family", "--task", "dates", "--limit", "1")) == 1
    shown = memory("list").stdout
    assert "upper bound is exclusive" in shown and lessons[1].id[:13] in shown
    assert "\x1b" not in shown and "\x07" not in shown, "a lesson is hostile text"


def test_search(memory: Memory, lessons: list[ReflectionRecord]) -> None:
    found = memory.data("search", "discounts fraction")
    assert [entry["id"] for entry in found] == [lessons[1].id]
    assert memory.data("search", "discount", "--task", "dates") == []
    assert "no lesson holds any of these words" in memory("search", "marzipan").stdout


def test_show(memory: Memory, lessons: list[ReflectionRecord]) -> None:
    shown = memory("show", lessons[0].id[:30]).stdout
    for words in ("active", "task dates", "The upper bound is exclusive.", "said by a person: the last day", "fail by"):
        assert words in shown
    assert lessons[2].id in shown, "who said it again"
    view = memory.data("show", lessons[1].id)
    assert view["signal"]["verdict"] == "fail" and view["recalled"][0]["verdict"] == "pass"
    hostile = memory("show", lessons[3].id).stdout
    assert "\x1b" not in hostile and "\x07" not in hostile


def test_quarantine_and_release(memory: Memory, lessons: list[ReflectionRecord]) -> None:
    assert memory.data("quarantine", lessons[1].id, "--reason", "wrong") == {"quarantined": 1}
    assert "quarantined by command line  wrong" in memory("show", lessons[1].id).stdout
    assert memory.data("quarantine", "--release", lessons[1].id) == {"released": 1}
    assert memory.data("list", "--state", "quarantined") == []
    both = [lessons[0].id, lessons[1].id]
    assert memory.data("quarantine", *both, "--yes") == {"quarantined": 2}
    assert len(memory.data("list", "--state", "quarantined")) == 2


def test_forget(memory: Memory, lessons: list[ReflectionRecord]) -> None:
    assert memory.data("forget", lessons[2].id, "--yes") == {"forgotten": 2}, "and all that say the same"
    assert memory.data("forget", "--family", "hostile", "--yes") == {"forgotten": 1}
    assert [entry["id"] for entry in memory.data("list")] == [lessons[1].id]
    assert memory.data("forget", "--task", "nothing of that name", "--yes") == {"forgotten": 0}


def test_export_and_import(memory: Memory, lessons: list[ReflectionRecord], tmp_path: Path) -> None:
    file = tmp_path / "lessons.jsonl"
    assert memory("export", str(file)).exit_code == 0
    assert file.stat().st_mode & 0o077 == 0, "for its owner only"
    assert memory("export").stdout == memory("export", "-").stdout == file.read_text()
    other = Memory(f"sqlite:///{tmp_path}/other.db")
    assert other.data("import", str(file)) == {"read": 3, "known": 0, "unbacked": 0, "imported": 3}
    assert "0 lessons imported, 3 were there already" in other("import", str(file)).stdout
    third = Memory(f"sqlite:///{tmp_path}/third.db")
    assert "3 lessons imported" in third("import", "-", typed=file.read_text()).stdout
    assert {entry["id"] for entry in other.data("list")} == {lesson.id for n, lesson in enumerate(lessons) if n != 2}


def test_stats(memory: Memory, lessons: list[ReflectionRecord]) -> None:
    stats = memory.data("stats")
    assert stats["states"] == {"active": 3, "repeat": 1}
    assert stats["rates"]["task"] == [{"key": "prices", "trials": 1, "passed": 1}]
    assert [entry["id"] for entry in stats["measured"]] == [lessons[1].id]
    assert stats["rows"]["reflections"] == 4 and stats["bytes"] > 0
    shown = memory("stats").stdout
    assert "3 active, 1 repeat" in shown and "1 of 1 trial passed" in shown
    assert "s3cret" not in shown


def test_vacuum(memory: Memory, lessons: list[ReflectionRecord]) -> None:
    async def age(store: SqlStore) -> None:
        episode = episode_of()
        end = EpisodeEnd(episode_id=episode.id, verdict=Verdict.FAIL, stop_reason=StopReason.EXHAUSTED, created_at=OLD)
        await store.append(episode, signal_for(episode.id), end)
        await store.append(LessonMark(lesson_id=lessons[0].id, mark=Mark.QUARANTINED, created_at=OLD))

    memory.run(age)
    rules = ("vacuum", "--older-than", "30", "--quarantined", "30")
    planned = {"dropped": {"signals": 1}, "forgotten": 2, "dry_run": True}
    assert memory.data(*rules, "--dry-run") == planned
    assert "1 row of signals would be dropped" in memory(*rules, "--dry-run").stdout
    refused = memory(*rules)
    assert isinstance(refused.exception, ConfigError) and "Drop 1 row of signals" in str(refused.exception)
    done = memory.data(*rules, "--yes", "--rebuild")
    assert (done["dropped"], done["forgotten"]) == ({"signals": 1}, 2)
    assert memory.data(*rules, "--dry-run") == {"dropped": {}, "forgotten": 0, "dry_run": True}
    assert "nothing would be dropped" in memory(*rules, "--dry-run").stdout
    assert len(memory.data("list")) == 2


def test_another_namespace_sees_nothing(
    memory: Memory, lessons: list[ReflectionRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    for where in (["--namespace", "other"], []):
        if not where:
            monkeypatch.setenv("GROUNDWIRE_NAMESPACE", "other")
        assert memory.data("list", *where) == memory.data("search", "bound", *where) == []
        stats = memory.data("stats", *where)
        assert stats["namespace"] == "other" and sum(stats["rows"].values()) == 0
        assert isinstance(memory("show", lessons[0].id, *where).exception, RecordNotFound)
        assert memory.data("forget", "--family", "family", "--yes", *where) == {"forgotten": 0}
    monkeypatch.delenv("GROUNDWIRE_NAMESPACE")
    memory.run(lambda store: learn(store, "of the other"), "other")
    assert len(memory.data("list")) == 4


@pytest.fixture
def sqlite(tmp_path: Path) -> Memory:
    made = Memory(f"sqlite:///{tmp_path}/ledger.db")
    made.run(lambda store: learn(store, "one"))
    made.run(lambda store: learn(store, "two"))
    return made


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (["list", "--state", "odd"], ConfigError, "'odd' is no state"),
        (["show", "ffff"], RecordNotFound, "no lesson"),
        (["show", "0"], RecordNotFound, "more than one"),
        (["quarantine", "ffff"], RecordNotFound, "no lesson"),
        (["forget"], ConfigError, "Nothing is named"),
        (["forget", "--family", "family"], ConfigError, "Forget 2 lessons for good"),
        (["import", "nowhere.jsonl"], ConfigError, "There is no file"),
        (["import", "/"], ConfigError, "can't be read"),
        (["export", "/no/such/folder/x"], ConfigError, "can't be written"),
    ],
)
def test_what_is_wrong_is_said(sqlite: Memory, arguments: list[str], kind: type[GroundwireError], words: str) -> None:
    ran = sqlite(*arguments)
    assert isinstance(ran.exception, kind), ran.output
    assert words in str(ran.exception) and ran.exception.do
    assert len(sqlite.data("list")) == 2, "nothing was changed"


@pytest.mark.parametrize("arguments", [["list", "--limit", "0"], ["vacuum", "--older-than", "-1"], ["show"], ["odd"]])
def test_a_wrong_flag_is_a_usage_error(sqlite: Memory, arguments: list[str]) -> None:
    assert sqlite(*arguments).exit_code == 2


def test_a_file_that_is_no_export_changes_nothing(sqlite: Memory, tmp_path: Path) -> None:
    for content in (b"", b"{}\n", b"\xff\xfe", b"x" * 100):
        (tmp_path / "bad").write_bytes(content)
        assert isinstance(sqlite("import", str(tmp_path / "bad")).exception, ConfigError)
    assert len(sqlite.data("list")) == 2


def test_a_database_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("These are my notes. " * 200)
    ran = Memory(f"sqlite:///{tmp_path}/notes.txt")("list")
    assert isinstance(ran.exception, StorageError)


def test_without_lessons_it_says_where_they_come_from(tmp_path: Path) -> None:
    empty = Memory(f"sqlite:///{tmp_path}/empty.db")
    assert "they come from trials that fail" in empty("list").stdout
    assert empty.data("list") == [] and empty("stats").exit_code == 0
    assert empty("export").stdout.count("\n") == 1


def test_the_program_itself_prints_errors_for_people(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("groundwire")
    command = [program, "memory", "show", "ffff", "--db", f"sqlite:///{tmp_path}/x.db"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode != 0 and ran.stdout == ""
    assert ran.stderr.startswith("error: ") and "Traceback" not in ran.stderr
    assert "groundwire memory list" in ran.stderr


def test_a_run_recalls_what_was_imported(sqlite: Memory, tmp_path: Path) -> None:
    """The other side of an export: another ledger's actors are given it."""
    sqlite("export", str(tmp_path / "out"))
    other = Memory(f"sqlite:///{tmp_path}/other.db")
    other("import", str(tmp_path / "out"))

    async def check(store: SqlStore) -> None:
        await store.append(RUN)
        assert await texts(store) == ["two", "one"]

    other.run(check)
