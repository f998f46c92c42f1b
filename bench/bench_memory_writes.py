"""What writing to the ledger costs: eight processes at once, batches, and bytes a trial.

    bench/bench_memory_writes.py [--url URL] [--processes 8] [--rows 5000] [--trials 1000] [--json]

Without --url: a fresh SQLite file in a temporary folder. A database that is named must be empty. Every row that was
acknowledged is looked for afterwards. `bare`: the same rows through the driver alone (SQLite: the same pragmas, BEGIN
IMMEDIATE; PostgreSQL: one INSERT a transaction), which is what the machine gives.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from groundwire.core import (
    Admission,
    Artifact,
    CandidateRecord,
    CaseOutcome,
    CaseResult,
    EpisodeEnd,
    EpisodeRecord,
    Evidence,
    Intent,
    Mint,
    ModelCall,
    Observation,
    Origin,
    Recall,
    Record,
    ReflectionRecord,
    RunRecord,
    Signal,
    StopReason,
    TrialEnd,
    TrialRecord,
    Verdict,
    new_id,
)
from groundwire.memory import SqlStore, locate, size_of

BATCH = 1000
CHANCE = random.Random(20)
KEY = b"k" * 32


def noise(size: int) -> str:
    """Random text: text that compresses well would hide what a database really stores."""
    return CHANCE.randbytes(size // 2).hex()


async def one_by_one(url: str, name: str, count: int) -> None:
    """A writer: one row an append."""
    store = SqlStore(url)
    await store.runs()
    _ready()
    for number in range(count):
        await store.append(TrialRecord(episode_id=name, trial=number))
    _done()
    await store.aclose()


async def batched(url: str, name: str, count: int) -> None:
    """A writer: 1,000 rows an append."""
    store = SqlStore(url)
    await store.runs()
    _ready()
    for start in range(0, count, BATCH):
        await store.append(*(TrialRecord(episode_id=name, trial=n) for n in range(start, min(start + BATCH, count))))
    _done()
    await store.aclose()


async def bare(url: str, name: str, count: int) -> None:
    """A writer: one row a transaction, by the driver alone, into a table of its own shape."""
    place = locate(url)
    row = (name, "[]", 0, "2026-01-01T00:00:00.000000+00:00")
    if place.is_sqlite:
        import sqlite3

        file = sqlite3.connect(str(place.file), timeout=60, isolation_level=None)
        file.execute("PRAGMA synchronous=NORMAL")
        _ready()
        for number in range(count):
            file.execute("BEGIN IMMEDIATE")
            file.execute("INSERT INTO bare VALUES ((SELECT coalesce(max(seq), 0) + 1 FROM bare), ?, ?, ?, ?, ?)",
                         (row[0], number, *row[1:]))  # fmt: skip
            file.execute("COMMIT")
        _done()
        file.close()
        return
    import psycopg

    plain = place.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as server:
        _ready()
        for number in range(count):
            server.execute(
                "INSERT INTO bare VALUES (nextval('ledger_seq'), %s, %s, %s, %s, %s)", (row[0], number, *row[1:])
            )
        _done()


WRITERS = {"one by one": one_by_one, "batches of 1,000": batched, "bare, one by one": bare}
_BARE = (
    "CREATE TABLE bare (seq bigint PRIMARY KEY, episode_id text, trial bigint, lessons text, escalation bigint,"
    " created_at text, UNIQUE (episode_id, trial))"
)


def _ready() -> None:
    """Tells the parent, and waits for its word, so that all begin at once."""
    print("ready", flush=True)
    sys.stdin.readline()


def _done() -> None:
    print(time.monotonic(), flush=True)


def together(url: str, how: str, processes: int, rows: int) -> Mapping[str, float]:
    """Rows a second of all processes together; raises where one of them failed."""
    names = [f"{how} {number}" for number in range(processes)]
    command = [sys.executable, __file__, "--url", url, "--rows", str(rows), "--writer", how]
    writers = [
        subprocess.Popen([*command, "--name", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in names
    ]
    for writer in writers:
        assert writer.stdout is not None
        if writer.stdout.readline() != "ready\n":
            raise RuntimeError("a writer did not start")
    began = time.monotonic()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    ends = [float(writer.communicate(timeout=1200)[0]) for writer in writers]
    if any(writer.returncode for writer in writers):
        raise RuntimeError("a writer failed")
    return {"rows/s": processes * rows / (max(ends) - began)}


async def kept(url: str, how: str, processes: int) -> int:
    """Rows of these writers that are there."""
    store = SqlStore(url)
    if how.startswith("bare"):
        count = await store.run_read(lambda s: s.exec_driver_sql("SELECT count(*) FROM bare").scalar_one())
    else:
        count = sum([len(await store.records(f"{how} {number}")) for number in range(processes)])
    await store.aclose()
    return count


def signal(mint: Mint, episode: EpisodeRecord, trial: int, candidate: str) -> Signal:
    """A signal of a usual size: five cases and half a kilobyte of output."""
    cases = (
        CaseOutcome(id="tests/test_x.py::test_0", result=CaseResult.FAILED, message="assert 1 == 2"),
        *(CaseOutcome(id=f"tests/test_x.py::test_{i}", result=CaseResult.PASSED) for i in range(1, 5)),
    )
    evidence = Evidence(cases=cases, collected=5, stdout=noise(500))
    seen = Observation(
        verdict=Verdict.FAIL, origin=Origin.TESTS, command=("pytest", "-q"), exit_code=1, evidence=evidence
    )
    return mint.signal(seen, episode_id=episode.id, trial=trial, issuer="test", candidate_digest=candidate)


def trial(mint: Mint, episode: EpisodeRecord, number: int, known: list[str]) -> list[list[Record]]:
    """All that one trial of a model writes, as the graph appends it: before the call, after it, after the judging."""
    place: dict[str, Any] = {"episode_id": episode.id, "trial": number}
    digest = noise(64)
    judged = signal(mint, episode, number, digest)
    cause: dict[str, Any] = {**place, "signal_id": judged.id, "candidate_digest": digest}
    intent = Intent(**place, kind="model_call", digest=noise(64), body=noise(3000), usd=0.01, tokens=900)
    reflection = ReflectionRecord(
        **cause, task_id=episode.task_id, family=episode.family, text=noise(300), by="critic", model="scripted"
    )
    recalled = known[-3:]
    begun = TrialRecord(**place, lessons=tuple(recalled))
    recalls = [Recall(**place, lesson_id=each, rank=rank, why="task") for rank, each in enumerate(recalled, 1)]
    call = ModelCall(
        **place, intent_id=intent.id, model="scripted", request_digest=intent.digest, completion=noise(1200), usd=0.01
    )
    made = CandidateRecord(**place, digest=digest, artifact=digest)
    body = Artifact(digest=digest, kind="candidate", body=noise(1000).encode())
    admission = Admission(**cause, edge="refine", admitted=True)
    ended = TrialEnd(**place, verdict=Verdict.FAIL, signal_id=judged.id)
    known.append(reflection.id)
    return [[begun, *recalls], [intent], [call], [body, made], [judged], [admission], [reflection, ended]]


async def trials(url: str, count: int) -> Mapping[str, float]:
    """Episodes of five trials, in the appends that the graph makes."""
    store = SqlStore(url)
    run = RunRecord(graph="bench")
    mint = Mint(run.id, KEY)
    await store.append(run)
    before = (await size_of(store)).bytes
    planned: list[list[Record]] = []
    for number in range(count // 5):
        episode = EpisodeRecord(run_id=run.id, task_id=f"task {number // 2}", family=f"family {number % 20}")
        known: list[str] = []
        appends = [batch for each in range(1, 6) for batch in trial(mint, episode, each, known)]
        end = EpisodeEnd(episode_id=episode.id, verdict=Verdict.FAIL, stop_reason=StopReason.EXHAUSTED)
        first: list[Record] = [episode]
        last: list[Record] = [end]
        planned += [first, *appends, last]
    wall, cpu = time.perf_counter(), time.process_time()
    for records in planned:
        await store.append(*records)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    await store.run_alone(("PRAGMA wal_checkpoint(TRUNCATE)",), ("CHECKPOINT",))
    size = (await size_of(store)).bytes - before
    await store.aclose()
    return {
        "bytes a trial": size / count,
        "of which texts and bodies": 3000 + 1200 + 500 + 300 + 1000,
        "appends a trial": 7,
        "ms CPU a trial": cpu / count * 1e3,
        "ms wall a trial": wall / count * 1e3,
    }


async def _make(url: str) -> None:
    store = SqlStore(url)
    await store.run_write(lambda session: session.exec_driver_sql(_BARE))
    await store.aclose()


def measure(url: str, processes: int, rows: int, count: int) -> dict[str, Mapping[str, float]]:
    results: dict[str, Mapping[str, float]] = {"a trial": asyncio.run(trials(url, count))}
    asyncio.run(_make(url))
    for how in WRITERS:
        figures = together(url, how, processes, rows)
        found = asyncio.run(kept(url, how, processes))
        results[f"{processes} processes × {rows:,} rows, {how}"] = {**figures, "lost": processes * rows - found}
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="an empty database; default: a fresh SQLite file")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--rows", type=int, default=5000, help="of each process")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--writer", choices=WRITERS, help=argparse.SUPPRESS)
    parser.add_argument("--name", default=new_id(), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.writer:
        asyncio.run(WRITERS[given.writer](given.url, given.name, given.rows))
        return
    with tempfile.TemporaryDirectory() as folder:
        url = given.url or f"sqlite:///{Path(folder)}/bench.db"
        results = measure(url, given.processes, given.rows, given.trials)
    if given.json:
        json.dump(results, sys.stdout, indent=2)
        print()
        return
    for title, figures in results.items():
        print(f"\n{title}")
        for name, value in figures.items():
            print(f"  {name:<40}{value:>12,.2f}")


if __name__ == "__main__":
    main()
