"""A real bubblewrap sandbox, one a module, and short ways to judge small projects in it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from time_enough import with_time_enough

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import Tool, ToolContext
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._sandboxes import Limits, Sandbox
from groundwire.core._signals import Isolation, NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import Hidden, Task
from groundwire.sandbox import open_sandbox

Files = Mapping[str, str | bytes]


def tree_of(files: Files) -> Tree:
    return Tree({p: c.encode() if isinstance(c, str) else c for p, c in files.items()})


async def no_model(backend: Backend, request: Request) -> Completion:
    raise AssertionError("a tool of this folder calls no model")


@dataclass
class Bench:
    """A sandbox and the ways to use it."""

    sandbox: Sandbox
    said: list[str] = field(default_factory=list[str])

    async def _open(self) -> Sandbox:
        return self.sandbox

    def context(self, *, coverage: bool = False) -> ToolContext:
        return ToolContext(sandbox=self._open, call=no_model, want_coverage=coverage, report=self.said.append)

    def task(
        self,
        files: Files,
        *,
        command: Sequence[str] = (),
        limits: Limits | None = None,
        hidden: Hidden | None = None,
        editable: Sequence[str] = (),
    ) -> Task:
        return Task(
            "t",
            tree=tree_of(files),
            command=tuple(command),
            limits=limits or Limits(),
            hidden=hidden,
            editable=tuple(editable),
        )

    async def judge(
        self,
        tool: Tool,
        task: Task,
        changes: Mapping[str, str | None] | None = None,
        *,
        coverage: bool = False,
        base_first: bool = False,
    ) -> Observation:
        if base_first:
            await tool.judge(Candidate(task.tree.digest, {}), task, self.context())
        return await tool.judge(candidate(task, changes), task, self.context(coverage=coverage))

    async def judge_hanging(
        self, tool: Tool, files: Files, first_s: float, *, whole: bool = False, says: str = "", **more: Any
    ) -> tuple[Observation, float]:
        """Judges what hangs, in so much time that what runs before it comes to its end.

        Args:
            first_s: wall seconds, where little else runs on this machine.
            whole: it has come to that where all cases have run.
            says: it has come to that where the line for people says so; empty: where it is a FAIL.

        Returns:
            What was found, and in how many seconds.
        """
        taken: list[float] = []

        async def within(wall_s: float) -> Observation:
            taken.append(wall_s)
            return await self.judge(tool, self.task(files, limits=Limits(wall_s=wall_s), **more))

        def came(found: Observation) -> bool:
            if says:
                return says in found.evidence.detail
            return found.verdict is Verdict.FAIL and not (whole and found.partial)

        return await with_time_enough(first_s, within, came), taken[-1]

    async def check(
        self,
        tool: Tool,
        files: Files,
        *,
        verdict: Verdict,
        reason: NoVerdict | None,
        cases: Mapping[str, str] | None = None,
        says: str = "",
        message: str = "",
        command: Sequence[str] = (),
        partial: bool = False,
    ) -> None:
        """Judges a project as it stands and compares.

        Args:
            cases: id → result; None: any.
            says: part of the line for people.
            message: part of a case's message.
            partial: what a FAIL says of itself.
        """
        found = await self.judge(tool, self.task(files, command=command))
        told = f"{found.evidence.detail}\n{found.evidence.stdout}\n{found.evidence.stderr}"
        assert (found.verdict, found.reason) == (verdict, reason), told
        assert says in found.evidence.detail, told
        assert not message or any(message in c.message for c in found.evidence.cases), found.evidence.cases
        if cases is not None:
            assert {c.id: c.result.value for c in found.evidence.cases} == cases, told
        if verdict is Verdict.FAIL:
            assert found.partial is partial
        # only what passed is looked at again in two boxes
        assert found.isolation is Isolation.IN_PROCESS or found.verdict is not Verdict.FAIL
        assert found.origin is Origin.TESTS


def candidate(task: Task, changes: Mapping[str, str | None] | None = None) -> Candidate:
    return Candidate(task.tree.digest, {p: c.encode() if c is not None else None for p, c in (changes or {}).items()})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench() -> AsyncIterator[Bench]:
    sandbox = await open_sandbox()
    yield Bench(sandbox)
    await sandbox.aclose()


@pytest.fixture
def bench_of() -> type[Bench]:
    return Bench
