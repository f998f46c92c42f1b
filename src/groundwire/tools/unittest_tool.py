"""The unittest tool."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from groundwire.contexts import ToolContext
from groundwire.signals import Observation
from groundwire.tasks import Task
from groundwire.tools.baselines import Baselines
from groundwire.tools.behaviour import Behaviour
from groundwire.tools.judging import Judge
from groundwire.tools.many import judge_many
from groundwire.tools.python_runner import PythonRunner
from groundwire.trees import Candidate

__all__ = ["Unittest"]


class Unittest:
    """Judges by `python -m unittest …`, with the outcome of each case.

    A skipped class counts as its cases skipped; an unexpected success fails, as it does for unittest itself. For
    limits, fork server and order see `Pytest`.

    Args:
        command: a command that goes before the task's, split (`("python", "-m", "unittest", "tests.test_x")`).
        apart: keep the assertions in another process than the candidate, where the tests allow it.
    """

    repeatable = True

    def __init__(self, command: Sequence[str] | None = None, *, apart: bool = False) -> None:
        runner = PythonRunner(
            name="unittest",
            default=("python", "-m", "unittest"),
            command=tuple(command) if command else None,
            preload=("unittest",),
            apart=apart,
        )
        self._judge = Judge(runner, Baselines())
        self._behaviour = Behaviour()

    @property
    def identity(self) -> str:
        """See `groundwire.contexts.RepeatableTool`."""
        return self._judge.identity

    def command_for(self, task: Task) -> tuple[str, ...]:
        """See `groundwire.contexts.RepeatableTool`."""
        return self._judge.command_for(task)

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.contexts.Tool`."""
        return await self._judge.judge(candidate, task, context)

    def judge_many(
        self, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[Observation, None]:
        """See `groundwire.contexts.Tool`."""
        return judge_many(self._judge, candidates, task, context)

    async def doubt(self, candidate: Candidate, task: Task, context: ToolContext) -> str:
        """See `groundwire.contexts.DoubtingTool`."""
        return await self._behaviour.doubt(candidate, task, context)
