"""Judges programs of MBPP's training tasks as `groundwire improve` does, and says how many a second: a first call.

    python bench/gpu/judgings.py --data FOLDER [--programs 100] [--at-once 16]

They return what small models like to return; none is right but by chance. The sandbox and the
isolation that the signals name are told, so that a machine on which it is less than two boxes is seen at once.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import Counter
from pathlib import Path

from findings import tell

from groundwire import Budget, FeedbackGraph, Rules
from groundwire.agents.width._many_samples import ManySamples, NamedFunction
from groundwire.benchmarks import benchmark
from groundwire.core import Request, Signal
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend
from groundwire.tools import HiddenTests, tool_for
from groundwire.tools._every_test import EveryTest

BODIES = tuple(f"*args):\n    return {one}\n" for one in ("None", "sorted(args)", "0", "[]", "args[0]"))
EACH = len(BODIES)


async def judge(data: Path, programs: int, at_once: int) -> None:
    """Judges, and tells."""
    tasks = [item.task for item in benchmark("mbpp").items(data) if item.split == "train"][: max(1, programs // EACH)]
    gate = asyncio.Semaphore(at_once)
    store = InMemoryStore()
    seen: Counter[str] = Counter()

    async def one(number: int) -> None:
        task, said = tasks[number], iter(BODIES)

        def answer(_request: Request) -> str:
            return next(said)

        graph = FeedbackGraph(name="samples")
        graph.add_actor("write", ManySamples(ScriptedBackend(answer, continues=True), NamedFunction()), width=EACH)
        graph.add_tool("judge", EveryTest(tool_for(task.command), HiddenTests()))
        graph.add_edge("write", "judge")
        app = graph.compile(store=store, budget=Budget(trials=1), rules=Rules(rejudge_fails=0, rejudge_passes=0))
        async with gate:
            result = await app.arun(task)
        for record in await store.records(result.episode_id):
            if isinstance(record, Signal):
                seen[f"{record.verdict} {record.isolation}"] += 1
                seen[f"sandbox {record.sandbox.kind if record.sandbox else 'none'}"] += 1

    await one(0)  # what a first one pays alone
    seen.clear()
    started = time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(len(tasks))))
    took = time.perf_counter() - started
    judged = sum(count for name, count in seen.items() if not name.startswith("sandbox"))
    tell("judgings", {"judged": judged, "seconds": round(took, 2), "a_second": round(judged / took, 1), **seen})


def main() -> None:
    """As the module says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--programs", type=lambda text: int(text or 100), default=100)
    parser.add_argument("--at-once", type=int, default=16)
    asked = parser.parse_args()
    asyncio.run(judge(asked.data, asked.programs, asked.at_once))


if __name__ == "__main__":
    main()
