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
from groundwire.tools._running import CONFIRMED, Separation

# The doctest tool.


class Doctest(JudgedTool):
    """Judges by `python -m doctest FILE…`; each docstring that holds examples is a case.

    The examples lie in the files that are repaired: a candidate that changes or drops one that the base tree holds has
    reached for what judges it, and fails for that. For limits, fork server and order see `Pytest`.

    Args:
        command: a command that goes before the task's, split (`("python", "-m", "doctest", "src/shapes.py")`).
        separation: how far the assertions are to be kept from the candidate.
    """

    def __init__(self, command: Sequence[str] | None = None, *, separation: Separation = CONFIRMED) -> None:
        runner = PythonRunner(
            name="doctest",
            default=("python", "-m", "doctest"),
            command=tuple(command) if command else None,
            preload=("doctest",),
            guard=_guard,
        )
        super().__init__(runner, separation)


def _guard(candidate: Candidate, task: Task, _invocation: Invocation) -> Observation | None:
    return tampering_with_doctests(candidate, task)


# The unittest tool.


class Unittest(JudgedTool):
    """Judges by `python -m unittest …`, with the outcome of each case.

    A skipped class counts as its cases skipped; an unexpected success fails, as it does for unittest itself. For
    limits, fork server and order see `Pytest`.

    Args:
        command: a command that goes before the task's, split (`("python", "-m", "unittest", "tests.test_x")`).
        separation: how far the assertions are to be kept from the candidate.
    """

    def __init__(self, command: Sequence[str] | None = None, *, separation: Separation = CONFIRMED) -> None:
        runner = PythonRunner(
            name="unittest",
            default=("python", "-m", "unittest"),
            command=tuple(command) if command else None,
            preload=("unittest",),
        )
        super().__init__(runner, separation)
        self._behaviour = Behaviour()

    async def doubt(self, candidate: Candidate, task: Task, context: ToolContext) -> str:
        """See `groundwire.core._contexts.SkepticalTool`."""
        return await self._behaviour.doubt(candidate, task, context)
