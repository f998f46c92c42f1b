"""The hidden tests: laid over the candidate once, at the end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from groundwire.contexts import Tool, ToolContext
from groundwire.signals import Evidence, Isolation, NoVerdict, Observation, Origin, Verdict
from groundwire.tasks import Task
from groundwire.tools.choose import tool_for
from groundwire.tools.guard import tampering, tampering_with_hidden
from groundwire.tools.laying import judge_laid_over
from groundwire.trees import Candidate

__all__ = ["HiddenTests"]


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
        """See `groundwire.contexts.Tool`."""
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
        """See `groundwire.contexts.Tool`. One after the other: hidden tests are for few candidates."""
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
