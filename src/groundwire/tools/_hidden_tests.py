"""The hidden tests, further test files laid over a project to judge by them, and the tool for a command."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import Tool, ToolContext
from groundwire.core._signals import Evidence, Isolation, NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import Task
from groundwire.tools._commands import read_command
from groundwire.tools._guard import tampering, tampering_with_hidden

# Chooses the tool for a command.


def tool_for(command: Sequence[str], report: str | None = None, *, apart: bool = False) -> Tool:
    """The tool that gets most out of a command.

    Args:
        command: split; `()`: pytest.
        report: path of the JUnit XML file that the command writes; then its cases decide, whatever the command is.
        apart: keep the assertions in another process than the candidate, where runner and tests allow it.

    Returns:
        `Pytest` for `pytest` and `python -m pytest`, `Unittest` for `python -m unittest`, `Doctest` for
        `python -m doctest`, else `Command`.

    Raises:
        ConfigError: `report` is not a plain relative path.
    """
    runner = "command" if report is not None else read_command(command).runner if command else "pytest"
    if runner == "pytest":
        from groundwire.tools._pytest_tool import Pytest

        return Pytest(command or None, apart=apart)
    if runner == "unittest":
        from groundwire.tools._stdlib_runners import Unittest

        return Unittest(command, apart=apart)
    if runner == "doctest":
        from groundwire.tools._stdlib_runners import Doctest

        return Doctest(command)
    from groundwire.tools._command_tool import Command

    return Command(command or None, report=report)


# Lays further test files over a project, and judges by them.


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


# The hidden tests: laid over the candidate once, at the end.


class HiddenTests:
    """Judges by `task.hidden`: its files are laid over the project with the candidate applied, then its command runs.

    Everything it says is of origin `hidden_tests`, so that it can open no gate. It gives no coverage.

    Args:
        report: path of the JUnit XML file that the hidden command writes, if it writes one.
        isolation: `PROCESS` keeps the assertions in another process than the candidate, where runner and tests allow
            it; the signal says which it was.
    """

    judges_hidden = True

    def __init__(self, report: str | None = None, *, isolation: Isolation = Isolation.PROCESS) -> None:
        self._report = report
        self._apart = isolation is Isolation.PROCESS
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
        tool = self._tools.setdefault(command, tool_for(command, self._report, apart=self._apart))
        return _hidden(await judge_laid_over(tool, command, task.hidden.tree, candidate, task, context))

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
