"""The unittest tool."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.contexts import ToolContext
from groundwire.tasks import Task
from groundwire.tools.behaviour import Behaviour
from groundwire.tools.judged import JudgedTool
from groundwire.tools.python_runner import PythonRunner
from groundwire.trees import Candidate

__all__ = ["Unittest"]


class Unittest(JudgedTool):
    """Judges by `python -m unittest …`, with the outcome of each case.

    A skipped class counts as its cases skipped; an unexpected success fails, as it does for unittest itself. For
    limits, fork server and order see `Pytest`.

    Args:
        command: a command that goes before the task's, split (`("python", "-m", "unittest", "tests.test_x")`).
        apart: keep the assertions in another process than the candidate, where the tests allow it.
    """

    def __init__(self, command: Sequence[str] | None = None, *, apart: bool = False) -> None:
        runner = PythonRunner(
            name="unittest",
            default=("python", "-m", "unittest"),
            command=tuple(command) if command else None,
            preload=("unittest",),
            apart=apart,
        )
        super().__init__(runner)
        self._behaviour = Behaviour()

    async def doubt(self, candidate: Candidate, task: Task, context: ToolContext) -> str:
        """See `groundwire.contexts.DoubtingTool`."""
        return await self._behaviour.doubt(candidate, task, context)
