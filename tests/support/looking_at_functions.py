"""Judges programs for a function task with the real tools in the real sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ToolContext
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._sandboxes import Limits, Sandbox
from groundwire.core._signals import Observation
from groundwire.core._tasks import Task
from groundwire.sandbox import open_sandbox
from groundwire.tools import HiddenTests, Unittest

LIMITS = Limits(cpu_s=1, wall_s=20)


@dataclass(frozen=True)
class Judged:
    """What the visible and the hidden tests said of one program."""

    visible: Observation
    hidden: Observation


async def judge_all(task: Task, programs: Sequence[str]) -> list[Judged]:
    """Each program as the whole of `solution.py`."""
    quick = replace(task, limits=LIMITS)
    box = await open_sandbox()

    async def opened() -> Sandbox:
        return box

    async def call(backend: Backend, request: Request) -> Completion:
        raise AssertionError("no model has a part in this")

    context = ToolContext(sandbox=opened, call=call)
    said: list[Judged] = []
    try:
        for program in programs:
            candidate = Candidate(task.tree.digest, {"solution.py": program.encode()})
            visible = await Unittest().judge(candidate, quick.public(), context)
            said.append(Judged(visible, await HiddenTests().judge(candidate, quick, context)))
    finally:
        await box.aclose()
    return said
