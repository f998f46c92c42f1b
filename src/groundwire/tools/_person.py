"""A person as a tool: what they say about a candidate counts only in a graph that names `human`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ToolContext
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import Task
from groundwire.tools._endings import harmless, shorten

Ask = Callable[[Candidate, Task], str | Awaitable[str]]
"""Shows a person a candidate. Their correction, in their words; empty where they are content."""

CASE_CHARS = 2000


class Person:
    """Asks a person. Content is a PASS; a correction is a FAIL, with their words as its evidence.

    Args:
        ask: shows the candidate and waits for an answer; a plain function runs in a thread. `EOFError` and
            `TimeoutError` mean that nobody answered: no verdict.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        try:
            said = await self._answer(candidate, task)
        except (EOFError, TimeoutError):
            return Observation(
                verdict=Verdict.NONE,
                reason=NoVerdict.RUNNER_MISSING,
                origin=Origin.HUMAN,
                evidence=Evidence(detail="Nobody answered."),
            )
        words = harmless(said).strip()
        content = not words
        case = CaseOutcome(
            id="person",
            result=CaseResult.PASSED if content else CaseResult.FAILED,
            message=shorten(words, CASE_CHARS),
        )
        return Observation(
            verdict=Verdict.PASS if content else Verdict.FAIL,
            origin=Origin.HUMAN,
            evidence=Evidence(
                cases=(case,),
                collected=1,
                stdout=words,
                detail="a person is content" if content else "a person has corrected it",
            ),
        )

    async def _answer(self, candidate: Candidate, task: Task) -> str:
        if inspect.iscoroutinefunction(self._ask):
            return await self._ask(candidate, task)
        said = await asyncio.to_thread(self._ask, candidate, task)
        return await said if inspect.isawaitable(said) else said
