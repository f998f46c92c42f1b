"""Writes a seeded dump of the current schema: run once for each new revision, and commit what it writes.

python tests/memory/schemas/make.py
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from groundwire.memory import SqlStore
from groundwire.memory.migrate import HEAD
from groundwire.mint import Mint
from groundwire.records import (
    Admission,
    Artifact,
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    Intent,
    ModelCall,
    Record,
    ReflectionRecord,
    RunRecord,
    StopReason,
    TrialRecord,
)
from groundwire.signals import CaseOutcome, CaseResult, Evidence, Observation, Origin, Signal, Verdict

KEY = b"s" * 32


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
    intent = Intent(**place, kind="model_call", digest="request")
    return [
        run,
        episode,
        TrialRecord(**place, lessons=("lesson",)),
        intent,
        ModelCall(**place, intent_id=intent.id, model="scripted", request_digest="request", usd=0.25),
        Artifact(digest="artifact", kind="changes", body=b"\x00changes\xff"),
        CandidateRecord(**place, digest="candidate", edits=("compare.boundary",), artifact="artifact"),
        signal,
        Admission(**cause, edge="refine", admitted=True),
        ReflectionRecord(
            **cause, task_id="task", family="family", text="The upper bound is exclusive \u2014 NUL \x00."
        ),
        EpisodeEnd(episode_id=episode.id, verdict=Verdict.FAIL, stop_reason=StopReason.EXHAUSTED),
    ]


def as_json(record: Any) -> list[Any]:
    body = json.loads(record.to_json()) if isinstance(record, Signal) else asdict(record)
    return [type(record).__name__, body]


def main() -> None:
    written = records()
    with tempfile.TemporaryDirectory() as folder:
        store = SqlStore(f"sqlite:///{folder}/x.db")
        asyncio.run(store.append(*written))
        asyncio.run(store.aclose())
        with closing(sqlite3.connect(Path(folder) / "x.db")) as database:
            dump = "\n".join(database.iterdump()) + "\n"
    target = Path(__file__).parent / HEAD
    target.with_suffix(".sql").write_text(dump)
    kept = {
        "records": [as_json(record) for record in written if not isinstance(record, Artifact)],
        "lessons": [record.text for record in written if isinstance(record, ReflectionRecord)],
        "artifact": next(record.body.hex() for record in written if isinstance(record, Artifact)),
    }
    target.with_suffix(".json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
