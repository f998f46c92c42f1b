"""The doctest tool."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from groundwire.contexts import ToolContext
from groundwire.signals import Observation
from groundwire.tasks import Task
from groundwire.tools.baselines import Baselines
from groundwire.tools.commands import Invocation
from groundwire.tools.guard import tampering_with_doctests
from groundwire.tools.judging import Judge
from groundwire.tools.many import judge_many
from groundwire.tools.python_runner import PythonRunner
from groundwire.trees import Candidate

__all__ = ["Doctest"]


class Doctest:
    """Judges by `python -m doctest FILE…`; each docstring that holds examples is a case.

    The examples lie in the files that are repaired: a candidate that changes or drops one that the base tree holds has
    reached for the yardstick, and fails for that. For limits, fork server and order see `Pytest`.

    Args:
        command: a command that goes before the task's, split (`("python", "-m", "doctest", "src/shapes.py")`).
    """

    repeatable = True

    def __init__(self, command: Sequence[str] | None = None) -> None:
        runner = PythonRunner(
            name="doctest",
            default=("python", "-m", "doctest"),
            command=tuple(command) if command else None,
            preload=("doctest",),
            guard=_guard,
        )
        self._judge = Judge(runner, Baselines())

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


def _guard(candidate: Candidate, task: Task, _invocation: Invocation) -> Observation | None:
    return tampering_with_doctests(candidate, task)
