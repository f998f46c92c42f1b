"""What the store costs: appends, batches, recall and edit statistics as the ledger grows.

    bench/bench_memory.py [--url URL] [--rows 10000 100000] [--json]

Without --url: a fresh SQLite file in a temporary folder. A database that is named must be empty.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from groundwire.memory import SqlStore
from groundwire.mint import Mint
from groundwire.records import (
    Admission,
    CandidateRecord,
    EpisodeRecord,
    Record,
    ReflectionRecord,
    RunRecord,
    TrialRecord,
)
from groundwire.signals import CaseOutcome, CaseResult, Evidence, Observation, Origin, Signal, Verdict

RUN = RunRecord(graph="bench")
MINT = Mint(RUN.id, b"k" * 32)
SEED = random.Random(20)
BATCH = 1000
FAMILIES = 50
LESSONS_A_TASK = 10


def noise(size: int) -> str:
    """Random text: text that compresses well would hide what a database really stores."""
    return SEED.randbytes(size // 2).hex()


def signal(episode: EpisodeRecord, name: str, verdict: Verdict = Verdict.FAIL) -> Signal:
    """A signal of a usual size: five cases and half a kilobyte of output."""
    cases = (
        CaseOutcome(id="tests/test_x.py::test_0", result=CaseResult.FAILED, message="assert 1 == 2"),
        *(CaseOutcome(id=f"tests/test_x.py::test_{i}", result=CaseResult.PASSED) for i in range(1, 5)),
    )
    seen = Observation(
        verdict=verdict,
        origin=Origin.TESTS,
        command=("pytest", "-q"),
        exit_code=1,
        evidence=Evidence(cases=cases, collected=5, stdout=noise(500)),
    )
    return MINT.signal(seen, episode_id=episode.id, trial=1, issuer="test", candidate_digest=digest(name))


def digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def trial(episode: EpisodeRecord, number: int) -> list[Record]:
    """The four records of a judged trial."""
    judged = signal(episode, f"trial {number}")
    admission = Admission(
        episode_id=episode.id,
        trial=number,
        signal_id=judged.id,
        candidate_digest=judged.candidate_digest,
        edge="refine",
        admitted=True,
    )
    candidate = CandidateRecord(
        episode_id=episode.id, trial=number, digest=judged.candidate_digest, edits=("compare.boundary",)
    )
    return [TrialRecord(episode_id=episode.id, trial=number), candidate, judged, admission]


async def timed(work: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """(wall seconds, CPU seconds)."""
    wall, cpu = time.perf_counter(), time.process_time()
    await work()
    return time.perf_counter() - wall, time.process_time() - cpu


async def appends(store: SqlStore, count: int) -> dict[str, float]:
    """Trials of four records, one append each; then signals alone in batches."""
    episode = EpisodeRecord(run_id=RUN.id, task_id="appends", family="appends")
    await store.append(RUN, episode)
    trials = [trial(episode, number) for number in range(count)]

    async def one_by_one() -> None:
        for records in trials:
            await store.append(*records)

    wall, cpu = await timed(one_by_one)
    signals = [signal(episode, f"batch {number}") for number in range(10 * BATCH)]

    async def batched() -> None:
        for start in range(0, len(signals), BATCH):
            await store.append(*signals[start : start + BATCH])

    batch_wall, batch_cpu = await timed(batched)
    return {
        "append of 4 records, ms CPU": cpu / count * 1e3,
        "append of 4 records, ms wall": wall / count * 1e3,
        "appends/s": count / wall,
        "batched signals/s": len(signals) / batch_wall,
        "batched signals/s of CPU": len(signals) / batch_cpu,
    }


async def grow(store: SqlStore, have: int, want: int) -> None:
    """Episodes with one judged candidate and one reflection each, over many tasks and families."""
    for start in range(have, want, BATCH):
        records: list[Record] = []
        for number in range(start, min(start + BATCH, want)):
            task = number // LESSONS_A_TASK
            family = f"family {task % FAMILIES}"
            episode = EpisodeRecord(run_id=RUN.id, task_id=f"task {task}", family=family)
            judged = signal(episode, "only", SEED.choice([Verdict.FAIL, Verdict.FAIL, Verdict.PASS]))
            edits = tuple(SEED.sample(["compare.boundary", "off_by_one", "swap", "negate", "default"], 2))
            records += [
                episode,
                CandidateRecord(episode_id=episode.id, trial=1, digest=judged.candidate_digest, edits=edits),
                judged,
                ReflectionRecord(
                    episode_id=episode.id,
                    trial=1,
                    signal_id=judged.id,
                    candidate_digest=judged.candidate_digest,
                    task_id=episode.task_id,
                    family=family,
                    text=noise(300),
                ),
            ]
        await store.append(*records)


async def reads(store: SqlStore, rows: int) -> dict[str, float]:
    """Medians, in ms."""

    async def median(times: int, work: Callable[[], Awaitable[object]]) -> tuple[float, float]:
        taken = [await timed(work) for _ in range(times)]
        return statistics.median(wall for wall, _ in taken) * 1e3, statistics.median(cpu for _, cpu in taken) * 1e3

    def task() -> str:
        return f"task {SEED.randrange(rows // LESSONS_A_TASK)}"

    def family() -> str:
        return f"family {SEED.randrange(FAMILIES)}"

    own, own_cpu = await median(300, lambda: store.recall(task(), family()))
    new, new_cpu = await median(300, lambda: store.recall("a new task", family()))
    mine, mine_cpu = await median(5, lambda: store.edit_statistics(family(), ""))
    whole, whole_cpu = await median(3, lambda: store.edit_statistics("", ""))
    return {
        "last 3 of the task, ms": own,
        "last 3 of the task, ms CPU": own_cpu,
        "last 3 of the family, ms": new,
        "last 3 of the family, ms CPU": new_cpu,
        "edit statistics of a family, ms": mine,
        "edit statistics of a family, ms CPU": mine_cpu,
        "edit statistics of all, ms": whole,
        "edit statistics of all, ms CPU": whole_cpu,
    }


async def measure(url: str, sizes: list[int]) -> dict[str, dict[str, float]]:
    store = SqlStore(url)
    try:
        results = {"writes": await appends(store, 1000)}
        have = 0
        for rows in sorted(sizes):
            await grow(store, have, rows)
            results[f"reads at {rows:,} reflections"] = await reads(store, rows)
            have = rows
    finally:
        await store.aclose()
    names = [name for name in results if name.startswith("reads")]
    small, large = results[names[0]], results[names[-1]]
    results["ratio of the largest to the smallest"] = {name: large[name] / small[name] for name in small}
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="an empty database; default: a fresh SQLite file")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000], help="reflections in the ledger")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = asyncio.run(measure(arguments.url or f"sqlite:///{Path(folder)}/bench.db", arguments.rows))
    if arguments.json:
        json.dump(results, sys.stdout, indent=2)
        print()
        return
    for title, figures in results.items():
        print(f"\n{title}")
        for name, value in figures.items():
            print(f"  {name:<40}{value:>12,.3f}" if value < 1000 else f"  {name:<40}{value:>12,.0f}")


if __name__ == "__main__":
    main()
