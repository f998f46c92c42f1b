"""The hidden tests, further test files laid over a project to judge by them, and the tool for a command."""

from __future__ import annotations

import glob
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import Tool, ToolContext, TwoBoxTool
from groundwire.core._signals import CaseResult, Evidence, Isolation, NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import Task
from groundwire.core._traits import ToolTraits
from groundwire.tools._commands import read_command
from groundwire.tools._guard import tampering, tampering_with_hidden
from groundwire.tools._running import CONFIRMED, Separation

# Chooses the tool for a command.


def tool_for(command: Sequence[str], report: str | None = None, *, separation: Separation = CONFIRMED) -> Tool:
    """The tool that gets most out of a command.

    Args:
        command: split; `()`: pytest.
        report: path of the JUnit XML file that the command writes; then its cases decide, whatever the command is.
        separation: how far the assertions are to be kept from the candidate.

    Returns:
        `Pytest` for `pytest` and `python -m pytest`, `Unittest` for `python -m unittest`, `Doctest` for
        `python -m doctest`, else `Command`.

    Raises:
        ConfigError: `report` is not a plain relative path.
    """
    runner = "command" if report is not None else read_command(command).runner if command else "pytest"
    if runner == "pytest":
        from groundwire.tools._pytest_tool import Pytest

        return Pytest(command or None, separation=separation)
    if runner == "unittest":
        from groundwire.tools._stdlib_runners import Unittest

        return Unittest(command, separation=separation)
    if runner == "doctest":
        from groundwire.tools._stdlib_runners import Doctest

        return Doctest(command, separation=separation)
    from groundwire.tools._command_tool import Command

    return Command(command or None, report=report, separation=separation)


# Lays further test files over a project, and judges by them.


async def judge_overlaid(
    tool: Tool,
    command: Sequence[str],
    files: Tree,
    candidate: Candidate,
    task: Task,
    context: ToolContext,
    *,
    confirming: bool = False,
) -> Observation:
    """What `tool` says of a candidate with `files` in the project; a candidate's own files of these names are not used.

    Args:
        tool: runs the command.
        command: what judges, split.
        files: what is laid over.
        candidate: made against the task's tree.
        task: the task; its own command and hidden tests have no part in this.
        context: for the tool; coverage is never asked for.
        confirming: see `ToolContext.confirming`.
    """
    inner = overlaid(command, files, task)
    laid = inner.tree
    changes = {path: content for path, content in candidate.changes.items() if path not in files.files}
    modes = {path: mode for path, mode in candidate.modes.items() if path in changes}
    inner_context = replace(context, want_coverage=False, confirming=confirming)
    return await tool.judge(Candidate(laid.digest, changes, modes=modes), inner, inner_context)


def overlaid(command: Sequence[str], files: Tree, task: Task) -> Task:
    """The task that these files make of it: they are tests of it, and no candidate's to edit."""
    laid = Tree({**task.tree.files, **files.files}, task.tree.executable | files.executable)
    tests = (*task.test_files, *map(glob.escape, sorted(files.files)))
    return replace(task, tree=laid, command=tuple(command), hidden=None, test_files=tests)


# The hidden tests: laid over the candidate once, at the end.


class HiddenTests:
    """Judges by `task.hidden`: its files are laid over the project with the candidate applied, then its command runs.

    Everything it says is of origin `hidden_tests`, so that it can open no gate. It gives no coverage.

    Args:
        report: path of the JUnit XML file that the hidden command writes, if it writes one.
        isolation: how far the assertions are kept from the candidate at most, in every run; runner, sandbox and tests
            have to allow it, and the signal says which it was.
        require_two_boxes: what was not judged in two boxes is no PASS.
    """

    traits = ToolTraits(judges_hidden=True)

    def __init__(
        self,
        report: str | None = None,
        *,
        isolation: Isolation = Isolation.TWO_BOXES,
        require_two_boxes: bool = False,
    ) -> None:
        self._report = report
        at_once = isolation is not Isolation.IN_PROCESS
        self._separated = Separation(at_once=at_once, at_most=isolation, required=require_two_boxes)
        self._tools: dict[tuple[str, ...], Tool] = {}

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        if task.hidden is None:
            return _nothing("The task has no hidden tests.")
        if candidate.base_digest != task.tree.digest:
            return _nothing("The candidate was made against another base tree than the task's.")
        if found := tampering(candidate, task) or tampering_with_hidden(candidate, task):
            return _hidden(found)
        command = task.hidden.command
        tool = self._tool(command)
        hidden = task.hidden.tree
        found = await judge_overlaid(tool, command, hidden, candidate, task, context, confirming=True)
        skips = any(case.result is CaseResult.SKIPPED for case in found.evidence.cases)
        if found.verdict is Verdict.PASS and skips and not candidate.is_base:
            # what the base tree ran has to run: else a change could pass by taking away what a case asks for
            await judge_overlaid(tool, command, hidden, Candidate(task.tree.digest, {}), task, context)
            found = await judge_overlaid(tool, command, hidden, candidate, task, context, confirming=True)
        return _hidden(found)

    def why_not_two_boxes(self, task: Task) -> str:
        """Why the hidden tests can't be judged in two boxes, by their text and their runner; empty if they can."""
        if task.hidden is None:
            return "there are none"
        tool = self._tool(task.hidden.command)
        inner = overlaid(task.hidden.command, task.hidden.tree, task)
        return tool.why_not_two_boxes(inner) if isinstance(tool, TwoBoxTool) else "their tool has no boxes"

    def _tool(self, command: tuple[str, ...]) -> Tool:
        return self._tools.setdefault(command, tool_for(command, self._report, separation=self._separated))

    async def judge_many(
        self, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[Observation, None]:
        """See `groundwire.core._contexts.Tool`. One after the other: hidden tests are for few candidates."""
        for candidate in candidates:
            yield await self.judge(candidate, task, context)


def _hidden(observation: Observation) -> Observation:
    return observation.model_copy(update={"origin": Origin.HIDDEN_TESTS, "coverage": None})


def _nothing(detail: str) -> Observation:
    return Observation(
        verdict=Verdict.NONE,
        reason=NoVerdict.USAGE,
        origin=Origin.HIDDEN_TESTS,
        evidence=Evidence(detail=detail),
    )
