"""What workers cost and gain: zero-latency episodes a second in one process, by one worker and by two.

    .venv/bin/python bench/bench_workers.py [--episodes 200] [--postgres URL]

An episode has two trials of one call and one judging each, none of which takes any time, so that all that is measured
is our own: the loop, the ledger, the leases. A rate is that between the first and the last end, by the database's
clock, so that starting processes does not count; processor seconds are those of all processes, their start among them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import tempfile
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from groundwire import FeedbackGraph, Observation, Origin, Task, Verdict
from groundwire.benchmarks import Item
from groundwire.cli._campaign import Driver
from groundwire.cli._suite import Suite, TaskSource
from groundwire.cli._workers import LocalFleet, WorkerJob
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, CriticContext, Reflection, ToolContext
from groundwire.core._models import Completion, Message, Request
from groundwire.core._records import EpisodeEnd
from groundwire.core._settings import Settings
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence
from groundwire.graphs.run._worker import WorkerPace
from groundwire.memory import SqlStore
from groundwire.memory._campaigns import Campaign

GRAPH = f"{Path(__file__).resolve()}:make"
FILE = "solution.py"
AT_ONCE = 8


class Instant:
    """A model that answers at once."""

    model = "instant"

    async def complete(self, request: Request) -> Completion:
        return Completion(texts=("text",), usd=0.0, prompt_tokens=3, completion_tokens=4)

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        return [await self.complete(request) for request in requests]

    def price(self, request: Request) -> float | None:
        return 0.0


class Writes:
    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        about = f"{context.task.id}, trial {context.trial}"
        await context.call(Instant(), Request(messages=(Message(role="user", content=about),), max_tokens=10))
        text = "right" if context.trial == 2 else "wrong"
        return [Candidate(context.task.tree.digest, {FILE: f"# {text}\n".encode()})]


class Notes:
    async def reflect(self, context: CriticContext) -> Reflection:
        return Reflection("it was wrong", by="notes")


class Judges:
    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        is_right = b"right" in task.tree.with_changes(candidate.changes).files.get(FILE, b"")
        case = CaseOutcome(id="right", result=CaseResult.PASSED if is_right else CaseResult.FAILED)
        verdict = Verdict.PASS if is_right else Verdict.FAIL
        return Observation(verdict=verdict, origin=Origin.VERIFIER, evidence=Evidence(cases=(case,)))


def make() -> FeedbackGraph:
    """For workers, which find it by this file's name."""
    graph = FeedbackGraph().add_actor("write", Writes()).add_critic("reflect", Notes())
    return graph.add_tool("test", Judges()).add_edge("write", "test").refine("test", via="reflect", to="write")


@dataclass(frozen=True)
class Rate:
    """What one way of running came to."""

    workers: int
    per_s: float
    cpu_ms: float


def cpu_s() -> float:
    """Processor seconds of this process and all that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


async def measured(url: str, items: Sequence[Item], workers: int) -> Rate:
    """One run; with no workers in this process alone."""
    async with aclosing(SqlStore(url)) as store:
        app = make().compile(store=store)
        before = cpu_s()
        if not workers:
            began = time.monotonic()
            await app.abatch([item.task for item in items], at_once=AT_ONCE)
            return Rate(0, len(items) / (time.monotonic() - began), 1000 * (cpu_s() - before) / len(items))
        run_id = await app.start_run()
        campaign = Campaign(store, run_id)
        ids = [item.task.id for item in items]
        await campaign.open(ids, frozenset(), workers=workers, at_once=AT_ONCE, most={}, used=None)
        suite = Suite(GRAPH, TaskSource("folders", ()), Settings(db=url), at_once=AT_ONCE)
        fleet = LocalFleet(WorkerJob(suite, run_id, run_id, "main", items))
        ends: dict[int, float] = {}

        def tell(position: int, at: float, outcome: str) -> bool:
            assert json.loads(outcome)["stop_reason"] == "verified"
            is_new = position not in ends
            ends[position] = at
            return is_new

        await Driver(campaign, fleet, WorkerPace(), print, tell).drive(await campaign.now())
        await campaign.end()
        await fleet.stop()
        found = sum(isinstance(end, EpisodeEnd) for end in await store.ends(run_id))
        assert found == len(items), found
        return Rate(
            workers, len(ends) / (max(ends.values()) - min(ends.values())), 1000 * (cpu_s() - before) / len(items)
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--postgres", help="SQLAlchemy URL of an empty schema")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        databases = {"SQLite": f"sqlite:///{folder}/l.db"} | ({"PostgreSQL": asked.postgres} if asked.postgres else {})
        print("| database | workers | episodes a second | CPU ms an episode |\n|---|---|---|---|")
        for name, url in databases.items():
            for workers in (0, 1, 2):
                items = [Item(Task(id=f"{workers}-{n}", family=f"{workers}-{n}"), "") for n in range(asked.episodes)]
                rate = asyncio.run(measured(url, items, workers))
                said = rate.workers or "one process, none"
                print(f"| {name} | {said} | {rate.per_s:.1f} | {rate.cpu_ms:.1f} |", flush=True)


if __name__ == "__main__":
    main()
