"""What the viewer costs: pages of a run of many episodes, a large episode's page, and what a ledger's writer notices.

    .venv/bin/python bench/bench_view.py [--episodes 100000] [--db URL]

The ledger is filled by the store itself. Pages are asked for through the application, without a network. The writer
appends the records of one small episode after the other, alone and while a page is followed live, in turns; what is
told is the ratio of the two, by processor time of the whole process and by wall time.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

import httpx

from groundwire.core._records import (
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    ModelCall,
    Record,
    RunEnd,
    RunRecord,
    StopReason,
    TrialEnd,
    TrialRecord,
)
from groundwire.core._seal import MemoryKeys, Mint
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Observation, Origin, Verdict
from groundwire.memory import SqlStore
from groundwire.viewer import Ledgers, make_app

BATCH = 200
"""Episodes of one append."""
EPISODES_A_ROUND = 150
HERE = "http://127.0.0.1:8000"


def episode(run: str, number: int) -> list[Record]:
    """One small episode: two trials, a model call each."""
    name, won = f"{run}-{number:07}", number % 3 > 0
    told: list[Record] = [EpisodeRecord(id=name, run_id=run, task_id=f"Task/{number % 1000}", family="f", seed=number)]
    for trial in (1, 2):
        told += [
            TrialRecord(episode_id=name, trial=trial),
            ModelCall(
                intent_id=f"{name}-{trial}", episode_id=name, trial=trial, model="m", request_digest="d",
                prompt_tokens=300 + number % 50, completion_tokens=40, usd=0.001,
            ),
            CandidateRecord(episode_id=name, trial=trial, digest=f"{name}-c{trial}", actor="m"),
            TrialEnd(episode_id=name, trial=trial, verdict=Verdict.PASS if won and trial == 2 else Verdict.FAIL),
        ]  # fmt: skip
    reason = StopReason.VERIFIED if won else StopReason.BUDGET_TRIALS
    return [
        *told, EpisodeEnd(episode_id=name, verdict=Verdict.PASS if won else Verdict.FAIL, stop_reason=reason),
    ]  # fmt: skip


async def fill(store: SqlStore, run: str, count: int) -> None:
    """A run of so many episodes."""
    await store.append(RunRecord(id=run, graph="code_repair"))
    for start in range(0, count, BATCH):
        await store.append(*(r for number in range(start, min(start + BATCH, count)) for r in episode(run, number)))
    await store.append(RunEnd(run_id=run))


async def large_episode(store: SqlStore, run: str, trials: int = 30, width: int = 200, cases: int = 40) -> str:
    """An episode of 30 trials with 200 judged candidates each."""
    name = f"{run}-large"
    mint = Mint(run, MemoryKeys().create(run))
    await store.append(RunRecord(id=run, graph="code_repair"), EpisodeRecord(id=name, run_id=run, task_id="large"))
    for trial in range(1, trials + 1):
        told: list[Record] = [TrialRecord(episode_id=name, trial=trial)]
        for number in range(width):
            digest = f"{trial:03}{number:04}" * 9
            told.append(CandidateRecord(episode_id=name, trial=trial, digest=digest, note=f"m.py:{number} a → b"))
            ends = [CaseResult.FAILED if (number + at + trial) % 7 == 0 else CaseResult.PASSED for at in range(cases)]
            outcomes = tuple(
                CaseOutcome(id=f"tests/test_m.py::test_{at}", result=end, message="assert 1 == 2")
                for at, end in enumerate(ends)
            )
            seen = Observation(
                verdict=Verdict.FAIL, origin=Origin.TESTS, evidence=Evidence(cases=outcomes, collected=cases),
            )  # fmt: skip
            told.append(mint.signal(seen, episode_id=name, trial=trial, issuer="tests", candidate_digest=digest))
        await store.append(*told)
    await store.append(
        EpisodeEnd(episode_id=name, verdict=Verdict.FAIL, stop_reason=StopReason.BUDGET_TRIALS), RunEnd(run_id=run)
    )
    return name


async def pages(client: httpx.AsyncClient, run: str, large: str) -> None:
    """Times each page, in processor seconds: the first time, and the median of three more."""
    asked = {
        "list of runs": "/",
        "runs by tokens": "/?sort=tokens",
        "runs by verdicts": "/?sort=passed",
        "episodes, newest": f"/run/{run}",
        "episodes, page 1,000": f"/run/{run}?page=1000&sort=oldest",
        "episodes by task": f"/run/{run}?sort=task",
        "episodes by tokens": f"/run/{run}?sort=tokens",
        "episodes that failed, a task": f"/run/{run}?verdict=fail&q=Task/7",
        "search": f"/search?q=nowhere&run={run}",
        "a run against itself": f"/compare?a={run}&b={run}",
        "episode of 30 × 200 candidates": f"/episode/{large}",
        "the same as data": f"/api/v1/episodes/{large}",
    }
    for name, address in asked.items():
        took: list[float] = []
        size = 0
        for _ in range(4):
            start = time.process_time()
            answer = await client.get(address)
            took.append(time.process_time() - start)
            assert answer.status_code == 200, (name, answer.text[:300])
            size = len(answer.content)
        print(f"{name:32} first {took[0]:6.2f} s, then {statistics.median(took[1:]):6.2f} s   {size / 1000:8.0f} kB")


async def writing(url: str, rounds: int) -> None:
    """What a writer notices of a page that another process follows live."""
    store = SqlStore(url)
    await store.append(RunRecord(id="written", graph="g"))
    ratios: list[tuple[float, float]] = []
    number = 0
    for turn in range(rounds):
        cost: dict[bool, tuple[float, float]] = {}
        for followed in (False, True) if turn % 2 else (True, False):
            follower = await _follower(url) if followed else None
            cpu, wall = time.process_time(), time.perf_counter()
            for _ in range(EPISODES_A_ROUND):
                number += 1
                await store.append(*episode("written", number))
            cost[followed] = (time.process_time() - cpu, time.perf_counter() - wall)
            if follower:
                follower.terminate()
                await follower.wait()
        ratios.append((cost[True][0] / cost[False][0], cost[True][1] / cost[False][1]))
    cpu, wall = (statistics.median(values) for values in zip(*ratios, strict=True))
    print(f"{'writing, followed / alone':32} {cpu:.3f} by processor time, {wall:.3f} by wall time ({rounds} rounds)")
    await store.aclose()


async def _follower(url: str) -> asyncio.subprocess.Process:
    """A process that follows a page, once it does."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--follow", url, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    await process.stdout.readline()
    return process


async def followed(ledgers: Ledgers) -> None:
    """What an open page asks for: what is newest, twice a second, and the page itself where something was written."""
    async with _client(ledgers) as client:
        seen = 0
        print("following", flush=True)
        while True:
            newest = await ledgers.newest()
            if newest != seen:
                seen = newest
                await client.get("/run/written")
            await asyncio.sleep(0.5)


def _client(ledgers: Ledgers) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=make_app(ledgers, token="t"))  # pyright: ignore[reportArgumentType]  # ASGI
    return httpx.AsyncClient(transport=transport, base_url=HERE, headers={"authorization": "Bearer t"}, timeout=600)


async def main() -> int:
    """Fills a ledger and measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--db", help="an empty database; default: SQLite in a folder of its own")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--follow", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.follow:
        await followed(Ledgers([SqlStore(options.follow)]))
    with tempfile.TemporaryDirectory() as folder:
        url = options.db or f"sqlite:///{Path(folder) / 'ledger.db'}"
        store = SqlStore(url)
        start = time.perf_counter()
        await fill(store, "many", options.episodes)
        large = await large_episode(store, "one")
        print(f"{options.episodes:,} episodes were written in {time.perf_counter() - start:.0f} s")
        ledgers = Ledgers([store])
        async with _client(ledgers) as client:
            await pages(client, "many", large)
        await ledgers.aclose()
        await writing(url, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
