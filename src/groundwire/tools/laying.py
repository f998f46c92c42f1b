"""Lays further test files over a project, and judges by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from groundwire.contexts import Tool, ToolContext
from groundwire.signals import Observation
from groundwire.tasks import Task
from groundwire.trees import Candidate, Tree

__all__ = ["judge_laid_over"]


async def judge_laid_over(
    tool: Tool, command: Sequence[str], files: Tree, candidate: Candidate, task: Task, context: ToolContext
) -> Observation:
    """What `tool` says of a candidate with `files` in the project; a candidate's own files of these names are not used.

    Args:
        tool: runs the command.
        command: what judges, split.
        files: what is laid over.
        candidate: made against the task's tree.
        task: the task; its own command and hidden tests have no part in this.
        context: for the tool; coverage is never asked for.
    """
    laid = Tree({**task.tree.files, **files.files}, task.tree.executable | files.executable)
    inner = replace(task, tree=laid, command=tuple(command), hidden=None)
    changes = {path: content for path, content in candidate.changes.items() if path not in files.files}
    modes = {path: mode for path, mode in candidate.modes.items() if path in changes}
    return await tool.judge(Candidate(laid.digest, changes, modes=modes), inner, replace(context, want_coverage=False))
