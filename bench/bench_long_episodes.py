"""What a trial costs at 1,000 trials against one at 100, in one run: a long episode must not slow down.

python bench/bench_long_episodes.py
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence

from groundwire import Budget, FeedbackGraph, Observation, Origin, Task, Tree, Verdict
from groundwire.core import ActorContext, Candidate, ToolContext
from groundwire.graphs import Rules
from groundwire.memory import InMemoryStore

TRIALS = 1_000
AROUND = 50
"""Trials whose median is taken, at 100 and at the end."""


class Counts:
    """An actor that answers with the next number, and notes the processor time of each trial."""

    def __init__(self) -> None:
        self.at: list[float] = []

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`."""
        self.at.append(time.process_time())
        return [Candidate(context.task.tree.digest, {"answer.txt": str(context.trial).encode()})]


class Refuses:
    """A tool that every answer fails."""

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        return Observation(verdict=Verdict.FAIL, origin=Origin.VERIFIER)


async def main() -> None:
    """Prints the ratio."""
    actor = Counts()
    graph = FeedbackGraph().add_actor("write", actor).add_tool("test", Refuses())
    graph.add_edge("write", "test").refine("test", to="write")
    app = graph.compile(store=InMemoryStore(), budget=Budget(trials=TRIALS), rules=Rules(repeats=None))
    await app.arun(Task(id="count", tree=Tree({"answer.txt": b""})))
    took = [(after - before) * 1e3 for before, after in zip(actor.at, actor.at[1:], strict=False)]
    early, late = (statistics.median(took[end - AROUND : end]) for end in (100 + AROUND // 2, len(took)))
    print(f"a trial at 100: {early:.2f} ms   at {TRIALS:,}: {late:.2f} ms   ratio {late / early:.2f}")


if __name__ == "__main__":
    asyncio.run(main())
