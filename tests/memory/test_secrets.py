"""Nothing that is recognised as a secret reaches a table, a file beside it, a lesson, or what is printed."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from cli import BUGGY, groundwire, lay_out
from planted import IN_ENVIRONMENT, PLANTED, VARIABLE
from remembering import MINT, learn

from groundwire.core._candidates import Candidate
from groundwire.core._errors import RecordNotFound
from groundwire.core._ids import new_id
from groundwire.core._records import (
    Artifact,
    EpisodeRecord,
    LessonMark,
    Link,
    Mark,
    Record,
    ReflectionRecord,
    RunRecord,
    StopReason,
)
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Observation, Origin, Signal, Verdict
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.memory._lessons import Lessons
from groundwire.memory._mapping import CODECS, OF_EPISODE
from groundwire.memory._place import locate
from groundwire.memory._tables import Base
from groundwire.memory._transfer import export_lessons

ALL = "\n".join(text for text, _ in PLANTED.values())
EPISODE = EpisodeRecord(run_id="run", task_id="task")
IDS = frozenset(
    {
        *("id", "run_id", "episode_id", "signal_id", "intent_id", "lesson_id", "candidate_digest", "digest"),
        *("base_digest", "best_candidate", "artifact", "candidate", "request_digest", "created_at", "edge", "lessons"),
        "reused",
    }
)
"""Fields that groundwire fills by itself."""


@pytest.fixture(autouse=True)
def variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, IN_ENVIRONMENT)


def leaks(text: str) -> list[str]:
    return [kind for kind, (_, secret) in PLANTED.items() if secret in text or secret.replace("\n", "\\n") in text]


def full_of_secrets(kind: type[Any]) -> Record:
    """A record with secrets in every text that is not an id."""
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        wanted = hints[field.name]
        if field.name == "episode_id":
            values[field.name] = EPISODE.id
        elif (field.name in IDS or kind is Link) and wanted is str:
            values[field.name] = new_id()
        elif field.name in IDS:
            continue
        elif kind is Artifact and field.name == "kind":
            values[field.name] = "coverage"
        elif wanted is str:
            values[field.name] = ALL
        elif wanted == tuple[str, ...]:
            values[field.name] = (ALL, "clean")
        elif wanted is bytes:
            values[field.name] = ALL.encode()
        elif wanted is bool:
            values[field.name] = True
        elif wanted is int:
            values[field.name] = 1
        elif wanted in (Verdict, StopReason, Mark):
            values[field.name] = next(iter(wanted))
    return kind(**values)


def signal() -> Signal:
    case = CaseOutcome(id=ALL, result=CaseResult.FAILED, message=ALL)
    seen = Observation(
        verdict=Verdict.FAIL,
        origin=Origin.TESTS,
        command=("pytest", ALL),
        exit_code=1,
        evidence=Evidence(cases=(case,), collected=1, stdout=ALL, stderr=ALL, detail=ALL),
    )
    return MINT.signal(seen, episode_id=EPISODE.id, trial=1, issuer="test", candidate_digest="candidate")


def records() -> Iterator[Record]:
    yield EPISODE
    for kind in CODECS:
        if kind is Signal:
            yield signal()
        else:
            yield full_of_secrets(kind)
    failing = signal()
    yield failing
    yield dataclasses.replace(full_of_secrets(ReflectionRecord), signal_id=failing.id)  # pyright: ignore[reportArgumentType]


async def raw(url: str) -> str:
    """Everything that the database holds, past our own code."""
    file = locate(url).file
    if file is not None:
        return "".join(path.read_bytes().decode("latin-1") for path in file.parent.glob(f"{file.name}*"))
    store = SqlStore(url)

    def dump(session: Any) -> str:
        tables = [session.exec_driver_sql(f"SELECT * FROM {name}").all() for name in Base.metadata.tables]
        bodies = session.exec_driver_sql("SELECT body FROM artifacts").scalars().all()
        return repr(tables) + "".join(bytes(body).decode("latin-1") for body in bodies)

    text = await store.run_read(dump)
    await store.aclose()
    return text


async def test_no_table_holds_one(url: str) -> None:
    store = SqlStore(url)
    for record in records():
        await store.append(record)
    written = await store.records(EPISODE.id)
    assert {type(record) for record in written} == {codec.type for codec in OF_EPISODE}
    (lesson, *_) = await Lessons(store).list()
    await Lessons(store).mark([lesson.reflection.id], Mark.QUARANTINED, reason=ALL, by=ALL)
    lines = "".join([line async for line in export_lessons(store)])
    assert "[masked " in lines and leaks(lines) == []
    await store.aclose()
    found = await raw(url)
    assert found.count("[masked ") > 100
    assert leaks(found) == []


async def test_so_it_is_in_memory() -> None:
    store = InMemoryStore()
    for record in records():
        await store.append(record)
    held = repr(await store.records(EPISODE.id)) + repr(await store.runs())
    assert "[masked " in held and leaks(held) == []


async def test_what_recall_is_asked_by_is_masked_alike(url: str) -> None:
    """A task whose name holds a secret finds its own lessons again."""
    store = SqlStore(url)
    task = f"task {PLANTED['OpenAI'][1]}"
    await learn(store, "What was learned.", task=task)
    assert [lesson.text for lesson in await store.recall(task, "")] == ["What was learned."]
    await store.aclose()


async def test_a_candidates_body_with_one_is_not_kept(url: str) -> None:
    """With a byte changed it would be another candidate's."""
    store = SqlStore(url)
    clean = Candidate(base_digest="b" * 64, changes={"a.py": b"x = 1\n"})
    dirty = Candidate(base_digest="b" * 64, changes={"a.py": PLANTED["AWS"][0].encode()})
    for candidate in (clean, dirty):
        await store.append(Artifact(digest=candidate.digest, kind="candidate", body=candidate.to_bytes()))
    assert await store.artifact(clean.digest) == clean.to_bytes()
    await store.aclose()
    assert leaks(await raw(url)) == []


async def test_a_mark_by_a_person_is_masked(url: str) -> None:
    store = SqlStore(url)
    await store.append(RunRecord(), LessonMark(lesson_id="x", mark=Mark.QUARANTINED, reason=ALL))
    await store.aclose()
    assert leaks(await raw(url)) == []


@pytest.mark.slow
def test_a_whole_run_leaves_none_behind(tmp_path: Path) -> None:
    """A project whose tests print secrets: no table, file, screen or JSON of ours holds one of them."""
    lines = "\n".join(f"    print({text!r})" for text, _ in PLANTED.values())
    files = {
        "shop.py": BUGGY["shop/price.py"],
        "test_shop.py": (
            "import sys\nfrom shop import total\n\n\ndef test_total():\n"
            f"{lines}\n    print({ALL!r}, file=sys.stderr)\n    assert total([1, 2]) == 3, {ALL!r}\n"
        ),
    }
    project = lay_out(tmp_path / "project", files)
    database = f"sqlite:///{tmp_path}/ledger.db"
    said: list[str] = []
    for command in (
        ("repair", str(project), "--test", "python -m pytest -q", "--db", database),
        ("show", "--db", database),
        ("memory", "list", "--db", database),
        ("memory", "list", "--json", "--db", database),
        ("memory", "search", "total assert", "--json", "--db", database),
        ("memory", "stats", "--json", "--db", database),
        ("memory", "export", "--db", database),
    ):
        ran = groundwire(*command)
        assert ran.code == 0, ran.err
        said += [ran.out, ran.err]
    (run,) = json.loads(groundwire("show", "--json", "--db", database).out)
    shown = groundwire("show", run["id"], "--json", "--db", database)
    said += [shown.out, shown.err]
    written = [
        Path(folder, name).read_bytes().decode("latin-1")
        for folder, _, names in os.walk(tmp_path)
        if not Path(folder).is_relative_to(project)
        for name in names
    ]
    assert "[masked " in shown.out, "the secrets were printed, and seen"
    for text in (*said, *written):
        assert leaks(text) == []


async def test_in_memory_a_secret_is_known_by_what_it_was_when_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is masked only when somebody asks for the record; the variable may be gone by then."""
    monkeypatch.setenv("SOME_TOKEN", "no-shape-of-a-key-1")
    store = InMemoryStore()
    run = RunRecord(config='{"a":"no-shape-of-a-key-1"}')
    await store.append(run)
    monkeypatch.delenv("SOME_TOKEN")
    assert [kept.config for kept in await store.runs()] == ['{"a":"[masked SOME_TOKEN]"}']


async def test_in_memory_a_candidate_with_one_is_not_kept_either() -> None:
    store = InMemoryStore()
    dirty = Candidate(base_digest="b" * 64, changes={"a.py": PLANTED["AWS"][0].encode()})
    await store.append(Artifact(digest=dirty.digest, kind="candidate", body=dirty.to_bytes()))
    with pytest.raises(RecordNotFound):
        await store.artifact(dirty.digest)
