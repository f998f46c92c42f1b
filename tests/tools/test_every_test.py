"""Samples are judged by all tests that there are, a task's together: of many tasks, few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ToolContext
from groundwire.core._sandboxes import Sandbox
from groundwire.core._signals import Observation, Verdict
from groundwire.core._tasks import Task
from groundwire.logs._functions import function_task
from groundwire.sandbox._fork_servers import ForkServers, with_fork_servers
from groundwire.tools import HiddenTests, Unittest, _every_test
from groundwire.tools._every_test import EveryTest

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Watched(Unittest):
    """The real tool, which notes the tasks that are at work in it."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[str] = []
        self.at_work: set[str] = set()
        self.most = 0

    async def judge_many(  # type: ignore[override]
        self, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[Observation, None]:
        self.begun.append(task.id)
        self.at_work.add(task.id)
        self.most = max(self.most, len(self.at_work))
        async for observation in super().judge_many(candidates, task, context):
            yield observation
        self.at_work.discard(task.id)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def context(bench: Any) -> AsyncIterator[ToolContext]:
    """As a run of samples has it: with fork servers that all tasks share."""
    forks = with_fork_servers(bench.sandbox, owned=False)
    assert isinstance(forks, ForkServers)

    async def opened() -> Sandbox:
        return forks

    yield replace(bench.context(), sandbox=opened, trial=1)
    await forks.aclose()


async def test_of_many_tasks_few_are_judged_at_a_time_and_each_comes_to_its_verdicts(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_every_test, "processors", lambda: 1)
    tasks = [
        function_task(
            f"t{n}", f'"""The number behind n, {n}."""\n', "f",
            visible=["assert f(1) == 2"], hidden="def check(f):\n    assert f(4) == 5\n",
        )
        for n in range(4)
    ]  # fmt: skip
    bodies = ("n + 1", "2", "0")
    watched = Watched()
    tool = EveryTest(watched, HiddenTests())

    async def judged(task: Task) -> list[Verdict]:
        programs = [
            Candidate(task.tree.digest, {"solution.py": f"def f(n):\n    return {body}\n".encode()}) for body in bodies
        ]
        return [seen.verdict async for seen in tool.judge_many(programs, task, context)]

    found = await asyncio.gather(*map(judged, tasks))
    assert found == [[Verdict.PASS, Verdict.FAIL, Verdict.FAIL]] * len(tasks)
    assert watched.most == 2 and watched.begun == [task.id for task in tasks]
    for task in tasks[:2]:
        stopped = tool.judge_many([Candidate(task.tree.digest, {})] * 2, task, context)
        await anext(stopped)
        await stopped.aclose()  # who stops reading gives the turn back
    assert await asyncio.wait_for(judged(tasks[0]), 60) == found[0]


async def test_each_of_many_samples_has_the_time_that_the_task_gives(context: ToolContext) -> None:
    task = function_task(
        "slow", '"""The number behind n."""\n', "f",
        visible=["assert f(1) == 2"], hidden="def check(f):\n    assert f(4) == 5\n",
    ).within_case_s(2.0)  # fmt: skip
    slow = (
        "import time\ndef f(n):\n    until = time.process_time() + 0.3\n    while time.process_time() < until: pass\n"
    )
    wrong = [f"def f(n):\n    return {number}\n" for number in range(3, 19)]
    right = [f"{slow}    return n + 1 + {nothing}\n" for nothing in ("0", "0 * n")]
    programs = [Candidate(task.tree.digest, {"solution.py": text.encode()}) for text in (*wrong, *right)]
    judging = EveryTest(Unittest(), HiddenTests()).judge_many(programs, task, context)
    seen = [one.verdict async for one in judging]
    assert seen == [Verdict.FAIL] * len(wrong) + [Verdict.PASS] * len(right)
