"""Judges whole programs by a task's own tests, in the real sandbox."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ToolContext
from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._sandboxes import Sandbox
from groundwire.core._signals import Verdict
from groundwire.core._tasks import Task
from groundwire.graphs.run._sandboxes import Sandboxes
from groundwire.tools import HiddenTests, tool_for

__all__ = ["by_hidden", "by_visible"]


async def _no_model(backend: Backend, request: Request) -> Completion:
    raise ConfigError(f"{backend.model} was asked ({request.purpose}).")


async def by_visible(task: Task, files: Mapping[str, bytes | None], boxes: Sandboxes) -> Verdict:
    """What the visible tests say of the task with these files."""
    candidate = Candidate(task.tree.digest, files)
    return (await tool_for(task.command).judge(candidate, task, _context(task, boxes))).verdict


async def by_hidden(task: Task, files: Mapping[str, bytes | None], boxes: Sandboxes) -> Verdict:
    """What the hidden tests say of the task with these files."""
    candidate = Candidate(task.tree.digest, files)
    return (await HiddenTests().judge(candidate, task, _context(task, boxes))).verdict


def _context(task: Task, boxes: Sandboxes) -> ToolContext:
    async def sandbox() -> Sandbox:
        return await boxes.open(task.python)

    return ToolContext(sandbox=sandbox, call=_no_model)
