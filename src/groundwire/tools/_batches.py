"""Judges many candidates: side by side, in a fork server where there is one, in their order."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ToolContext
from groundwire.core._errors import GroundwireError, SandboxCrashed, SandboxError
from groundwire.core._sandboxes import ExecResult, Limits, Sandbox, WarmSandbox
from groundwire.core._signals import Observation
from groundwire.core._tasks import Task
from groundwire.tools._baselines import Baselines, Pace
from groundwire.tools._judging import Execute, Judge, Judgement, cold
from groundwire.tools._running import Runner, Start

# Runs things side by side and gives their results in order.

Item = TypeVar("Item")
Result = TypeVar("Result")


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


async def in_order(
    work: Callable[[Item], Awaitable[Result]], items: Iterable[Item], *, width: int
) -> AsyncGenerator[Result, None]:
    """Yields `work(item)` for each item, in the items' order, with at most `width` of them under way.

    When the reader stops, or one fails, what is under way is cancelled and waited for.

    Args:
        work: what to do with one item.
        items: read only as fast as there is room.
        width: at least 1.
    """
    waiting = iter(items)
    room = asyncio.Semaphore(width)
    started: deque[asyncio.Task[Result]] = deque()

    async def one(item: Item) -> Result:
        async with room:
            return await work(item)

    try:
        while True:
            # twice the width, so that a slow item at the head leaves nobody idle for long
            started.extend(asyncio.create_task(one(item)) for item in islice(waiting, 2 * width - len(started)))
            if not started:
                return
            await asyncio.wait([started[0]])
            yield started.popleft().result()
    finally:
        for task in started:
            task.cancel()
        await asyncio.gather(*started, return_exceptions=True)


# Runs many candidates in a fork server, with a fresh one in its place when it dies.


class WarmRuns:
    """A fork server on one base tree. An `Execute` of `groundwire.tools._judging`.

    Args:
        sandbox: where the server runs.
        tree: the base tree.
        start: any run on that tree; support files and preloaded modules are the same for all.
    """

    def __init__(self, sandbox: Sandbox, tree: Tree, start: Start) -> None:
        self._sandbox = sandbox
        self._tree = tree
        self._start = start
        self._server: WarmSandbox | None = None
        self._turn = asyncio.Lock()

    async def open(self) -> None:
        """Starts the server.

        Raises:
            SandboxUnavailable: this kind of sandbox has none.
            SandboxCrashed: it did not start.
        """
        self._server = await self._sandbox.warm(self._tree, preload=self._start.preload, support=self._start.support)

    async def __call__(self, start: Start, candidate: Candidate, limits: Limits, key: str) -> ExecResult:
        """One candidate; tried once more in a fresh server where the server died.

        Raises:
            SandboxCrashed: that one died too.
        """
        used = self._server
        if used is None:
            used = await self._replace(None)
        try:
            return await self._run(used, start, candidate, limits, key)
        except SandboxCrashed:
            return await self._run(await self._replace(used), start, candidate, limits, key)

    async def _run(
        self, server: WarmSandbox, start: Start, candidate: Candidate, limits: Limits, key: str
    ) -> ExecResult:
        env = {**start.env, "GROUNDWIRE_KEY": key}
        return await server.run(
            start.warm or (), candidate.changes, limits, modes=candidate.modes, env=env, collect=start.collect
        )

    async def _replace(self, dead: WarmSandbox | None) -> WarmSandbox:
        """A fresh server in the place of a dead one; those who waited meanwhile share it."""
        async with self._turn:
            if self._server is None or self._server is dead:
                self._server = None
                if dead is not None:
                    await _close(dead)
                await self.open()
            assert self._server is not None
            return self._server

    async def aclose(self) -> None:
        """Ends the server."""
        server, self._server = self._server, None
        if server is not None:
            await _close(server)


async def _close(server: WarmSandbox) -> None:
    # a server that is dead already can't be ended any better
    with suppress(SandboxError, OSError):
        await server.aclose()


# Judges many candidates: side by side, in a fork server where there is one, in their order.

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


# What every tool that runs a command has in common: a judge does the work.


class JudgedTool:
    """A tool that judges each candidate by one kind of runner, in a sandbox of its own.

    Args:
        runner: the kind of runner.
    """

    repeatable = True

    def __init__(self, runner: Runner) -> None:
        self._judge = Judge(runner, Baselines())

    @property
    def identity(self) -> str:
        """See `groundwire.core._contexts.RepeatableTool`."""
        return self._judge.identity

    def command_for(self, task: Task) -> tuple[str, ...]:
        """See `groundwire.core._contexts.RepeatableTool`."""
        return self._judge.command_for(task)

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        return await self._judge.judge(candidate, task, context)

    def judge_many(
        self, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[Observation, None]:
        """See `groundwire.core._contexts.BatchTool`."""
        return judge_many(self._judge, candidates, task, context)
