"""Judges each of many samples by all the tests that a task has, hidden ones too: for what is counted or trained on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import BatchTool, Tool, ToolContext
from groundwire.core._signals import NoVerdict, Observation, Verdict
from groundwire.core._tasks import Task
from groundwire.core._traits import ToolTraits
from groundwire.tools._batches import processors

AT_ONCE = 4
"""Samples of one task that are confirmed at a time; many tasks are at work beside it."""


class EveryTest:
    """All samples by the visible tests in one go; then each that these don't fail by the tool that has the last word.

    That is the hidden tests, where the task has any. Else the visible ones judge it once more, with tests and sample in
    separate boxes where that can be had. A task whose visible tests are none at all is judged by its hidden ones.

    Args:
        visible: judges by the task's command.
        hidden: judges the hidden tests; None: the task has none.
    """

    def __init__(self, visible: Tool, hidden: Tool | None) -> None:
        self._visible = visible
        self._hidden = hidden
        self._turns: tuple[asyncio.AbstractEventLoop, asyncio.Semaphore] | None = None
        # what hidden tests said of one sample must not be told to another, and needs no second look; what the visible
        # ones said may be told, and trained on
        self.traits = ToolTraits(judges_hidden=hidden is not None, judges_visible=True, judges_all=True)

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `Tool`."""
        first = await self._visible.judge(candidate, _without_hidden(task), context)
        return await self._confirmed(candidate, first, task, context)

    async def judge_many(
        self, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[Observation, None]:
        """See `BatchTool`."""
        if not isinstance(self._visible, BatchTool):
            for candidate in candidates:
                yield await self.judge(candidate, task, context)
            return
        # one after the other, as many tasks as keep the processors busy: else hundreds would all end at the very last
        async with self._turn():
            judged = self._judged_together(self._visible, candidates, task, context)
            async with aclosing(judged) as observations:
                async for observation in observations:
                    yield observation

    def _turn(self) -> asyncio.Semaphore:
        """A task's turn, among those that this tool judges in the running loop."""
        loop = asyncio.get_running_loop()
        if self._turns is None or self._turns[0] is not loop:
            self._turns = loop, asyncio.Semaphore(processors() + 1)
        return self._turns[1]

    async def _judged_together(
        self, visible: BatchTool, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[Observation, None]:
        gate = asyncio.Semaphore(AT_ONCE)

        async def confirmed(candidate: Candidate, first: Observation) -> Observation:
            async with gate:
                return await self._confirmed(candidate, first, task, context)

        waiting: list[asyncio.Task[Observation]] = []
        try:
            judging = visible.judge_many(candidates, _without_hidden(task), context)
            async with aclosing(judging) as observations:
                left = iter(candidates)
                async for first in observations:
                    task_of_one = asyncio.create_task(confirmed(next(left), first))
                    waiting.append(task_of_one)
            for judged in waiting:
                yield await judged
        finally:
            for judged in waiting:
                judged.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _confirmed(
        self, candidate: Candidate, first: Observation, task: Task, context: ToolContext
    ) -> Observation:
        if self._hidden is not None:
            if first.verdict is Verdict.PASS or first.reason is NoVerdict.NOTHING_COLLECTED:
                return await self._hidden.judge(candidate, task, context)
        elif first.verdict is Verdict.PASS:
            return await self._visible.judge(candidate, task, replace(context, confirming=True))
        return first


def _without_hidden(task: Task) -> Task:
    return task if task.hidden is None else replace(task, hidden=None)
