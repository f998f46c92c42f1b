"""What every tool that runs a command has in common: a judge does the work."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from groundwire.contexts import ToolContext
from groundwire.signals import Observation
from groundwire.tasks import Task
from groundwire.tools.baselines import Baselines
from groundwire.tools.judging import Judge
from groundwire.tools.many import judge_many
from groundwire.tools.running import Runner
from groundwire.trees import Candidate

__all__ = ["JudgedTool"]


class JudgedTool:
    """A tool that judges each candidate by one kind of runner, in a sandbox of its own.

    Args:
        runner: the kind of runner.
    """

    repeatable = True

    def __init__(self, runner: Runner) -> None:
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
        """See `groundwire.contexts.BatchTool`."""
        return judge_many(self._judge, candidates, task, context)
