"""The tools of the standard library's runners: unittest and doctest."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ToolContext
from groundwire.core._signals import Observation
from groundwire.core._tasks import Task
from groundwire.tools._batches import JudgedTool
from groundwire.tools._behaviour import Behaviour
from groundwire.tools._commands import Invocation
from groundwire.tools._guard import tampering_with_doctests
from groundwire.tools._python_runner import PythonRunner

# The doctest tool.


class Doctest(JudgedTool):
    """Judges by `python -m doctest FILE…`; each docstring that holds examples is a case.

    The examples lie in the files that are repaired: a candidate that changes or drops one that the base tree holds has
    reached for the yardstick, and fails for that. For limits, fork server and order see `Pytest`.

    Args:
        command: a command that goes before the task's, split (`("python", "-m", "doctest", "src/shapes.py")`).
    """

    def __init__(self, command: Sequence[str] | None = None) -> None:
        runner = PythonRunner(
            name="doctest",
            default=("python", "-m", "doctest"),
            command=tuple(command) if command else None,
            preload=("doctest",),
            guard=_guard,
        )
        super().__init__(runner)


def _guard(candidate: Candidate, task: Task, _invocation: Invocation) -> Observation | None:
    return tampering_with_doctests(candidate, task)


# The unittest tool.


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
        """See `groundwire.core._contexts.DoubtingTool`."""
        return await self._behaviour.doubt(candidate, task, context)
