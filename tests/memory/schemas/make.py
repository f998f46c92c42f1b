"""Writes a seeded dump of the current schema: run once for each new revision, and commit what it writes.

python tests/memory/schemas/make.py
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

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
    Recall,
    Record,
    ReflectionRecord,
    RunRecord,
    StopReason,
    TrialEnd,
    TrialRecord,
)
from groundwire.core._seal import Mint
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Observation, Origin, Signal, Verdict
from groundwire.memory import SqlStore
from groundwire.memory._engine import HEAD

KEY = b"s" * 32


class Constant:
    """An embedder to which all texts mean the same."""

    name, revision, dimensions = "constant", "1", 2

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[3.0, 4.0] for _ in texts]


def records() -> list[Record]:
    run = RunRecord(graph="code_repair", version="0.1.0")
    episode = EpisodeRecord(run_id=run.id, task_id="task", family="family", seed=3)
    place: dict[str, Any] = {"episode_id": episode.id, "trial": 1}
    case = CaseOutcome(id="tests/test_x.py::test_edge", result=CaseResult.FAILED, message="assert 1 == 2")
    seen = Observation(
        verdict=Verdict.FAIL, origin=Origin.TESTS, exit_code=1, evidence=Evidence(cases=(case,), collected=1)
    )
    signal = Mint(run.id, KEY).signal(seen, **place, issuer="test", candidate_digest="candidate")
    cause: dict[str, Any] = {**place, "signal_id": signal.id, "candidate_digest": "candidate"}
    intent = Intent(**place, kind="model_call", digest="request", usd=0.5, tokens=90)
    lesson = ReflectionRecord(
        **cause,
        task_id="task",
        family="family",
        text="The upper bound is exclusive \u2014 NUL \x00.",
        raw="don't include the last one",
        by="critic",
        model="scripted",
        signature="AssertionError: int one too small",
        frames=("shop/price.py:total",),
    )
    second: dict[str, Any] = {**place, "trial": 2}
    return [
        run,
        episode,
        TrialRecord(**place),
        intent,
        ModelCall(**place, intent_id=intent.id, model="scripted", request_digest="request", usd=0.25),
        ProgramRun(**place, intent_id=intent.id, request_digest="program", command=("fix", "{tree}"), exit_code=0),
        Artifact(digest="artifact", kind="changes", body=b"\x00changes\xff"),
        CandidateRecord(**place, digest="candidate", edits=("compare.boundary",), artifact="artifact"),
        signal,
        Admission(**cause, edge="refine", admitted=True),
        lesson,
        TrialEnd(**place, verdict=Verdict.FAIL, signal_id=signal.id),
        Recall(**second, lesson_id=lesson.id, rank=1, why="signature+task"),
        TrialRecord(**second, lessons=(lesson.id,)),
        TrialEnd(**second, verdict=Verdict.PASS),
        LessonMark(lesson_id=lesson.id, mark=Mark.QUARANTINED, reason="a trial", by="a person"),
        LessonMark(lesson_id=lesson.id, mark=Mark.RELEASED, by="a person"),
        EpisodeEnd(episode_id=episode.id, verdict=Verdict.FAIL, stop_reason=StopReason.EXHAUSTED),
    ]


def as_json(record: Any) -> list[Any]:
    body = json.loads(record.to_json()) if isinstance(record, Signal) else asdict(record)
    return [type(record).__name__, body]


def _dump(database: sqlite3.Connection) -> Iterator[str]:
    """The dump that sqlite3 makes, but for virtual tables, which it writes by changing the schema behind its back."""
    virtual = "SELECT name, sql FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%'"
    tables = database.execute(virtual).fetchall()
    for statement in database.iterdump():
        names = (f'"{name}' in statement or f"'{name}" in statement for name, _ in tables)
        if not (any(names) or "sqlite_master" in statement or "writable_schema" in statement) or "TRIGGER" in statement:
            yield statement
    for name, sql in tables:
        yield f"{sql};"
        yield f"INSERT INTO {name}({name}) VALUES ('rebuild');"


def main() -> None:
    written = records()
    with tempfile.TemporaryDirectory() as folder:
        store = SqlStore(f"sqlite:///{folder}/x.db", embedder=Constant())
        asyncio.run(store.append(*written))
        asyncio.run(store.aclose())
        with closing(sqlite3.connect(Path(folder) / "x.db")) as database:
            dump = "\n".join(_dump(database)) + "\n"
    target = Path(__file__).parent / HEAD
    target.with_suffix(".sql").write_text(dump)
    kept = {
        "records": [as_json(record) for record in written if not isinstance(record, Artifact | LessonMark)],
        "lessons": [record.text for record in written if isinstance(record, ReflectionRecord)],
        "artifact": next(record.body.hex() for record in written if isinstance(record, Artifact)),
    }
    target.with_suffix(".json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
