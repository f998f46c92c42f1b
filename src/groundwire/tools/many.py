"""Judges many candidates: side by side, in a fork server where there is one, in their order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from groundwire.contexts import ToolContext
from groundwire.errors import GroundwireError, SandboxError
from groundwire.sandboxes import Sandbox
from groundwire.signals import Observation
from groundwire.tasks import Task
from groundwire.tools.baselines import Pace
from groundwire.tools.judging import Execute, Judge, Judgement, cold
from groundwire.tools.ordered import in_order, processors
from groundwire.tools.running import Start
from groundwire.tools.warm import WarmRuns
from groundwire.trees import Candidate

__all__ = ["judge_many"]

FEW = 4
"""From this many candidates on, a fork server and limits taken from the base tree are worth it."""
CANDIDATES_PER_LOOK = 100


@dataclass
class _Search:
    """Many candidates of one call.

    A candidate that only time speaks against, under limits that were ours and not the task's, is looked at again with
    five times as much: a right answer may take longer than the broken base. Only once for each hundred candidates of a
    call (and at least once), since mutants often run for ever; after that the FAIL stands, and its message names the
    limit.
    """

    judge: Judge
    task: Task
    start: Start
    sandbox: Sandbox
    execute: Execute
    looks: int

    async def one(self, candidate: Candidate) -> Observation:
        if refused := self.judge.check(candidate, self.task):
            return refused
        baseline = self.judge.baseline(self.task, self.start)
        full = Pace(self.task.limits)
        pace = baseline.pace(self.task.limits) if baseline else full
        found = await self._run(candidate, pace)
        if found.out_of_time and pace != full and self.looks > 0:
            self.looks -= 1
            found = await self._run(candidate, pace.wider(self.task.limits))
        return found.observation

    async def _run(self, candidate: Candidate, pace: Pace) -> Judgement:
        return await self.judge.run(self.start, candidate, self.task, pace, self.execute, self.sandbox.info)


async def judge_many(
    judge: Judge, candidates: Sequence[Candidate], task: Task, context: ToolContext
) -> AsyncGenerator[Observation, None]:
    """An observation for each candidate, in their order, as soon as it is there. See `contexts.Tool.judge_many`."""

    async def alone(candidate: Candidate) -> Observation:
        return await judge.judge(candidate, task, context)

    work, warm = alone, None
    start = judge.start(task)
    if len(candidates) >= FEW and not context.want_coverage and isinstance(start, Start):
        try:
            sandbox = await context.sandbox()
        except (GroundwireError, OSError):
            pass  # each candidate says so itself
        else:
            warm = await _warm(task, start, sandbox)
            looks = 1 + len(candidates) // CANDIDATES_PER_LOOK
            work = _Search(judge, task, start, sandbox, warm or cold(sandbox, task.tree), looks).one
    try:
        async with aclosing(in_order(work, candidates, width=processors())) as observations:
            async for observation in observations:
                yield observation
    finally:
        if warm is not None:
            await asyncio.shield(warm.aclose())


async def _warm(task: Task, start: Start, sandbox: Sandbox) -> WarmRuns | None:
    """A fork server, where the runner and the sandbox can have one."""
    if start.warm is None:
        return None
    runs = WarmRuns(sandbox, task.tree, start)
    try:
        await runs.open()
    except (SandboxError, OSError):
        return None
    return runs
