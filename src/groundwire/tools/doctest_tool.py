"""The doctest tool."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.signals import Observation
from groundwire.tasks import Task
from groundwire.tools.commands import Invocation
from groundwire.tools.guard import tampering_with_doctests
from groundwire.tools.judged import JudgedTool
from groundwire.tools.python_runner import PythonRunner
from groundwire.trees import Candidate

__all__ = ["Doctest"]


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
