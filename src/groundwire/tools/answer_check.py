"""A function of yours as the judge of the answer that a sequence of calls ends with."""

from __future__ import annotations

from collections.abc import Callable

from groundwire.contexts import ToolContext
from groundwire.signals import CaseOutcome, CaseResult, Evidence, Observation, Origin, Verdict
from groundwire.tasks import Task
from groundwire.toolcalls import answer_of
from groundwire.trees import Candidate

__all__ = ["AnswerCheck"]

CASE = "answer"


class AnswerCheck:
    """Judges the answer by plain code.

    Args:
        check: gets the answer; gives True or False, or why it is wrong in words for the actor, empty where it is right.
        oracle: True if it knows the right answer: the actor is told no more than that its own is wrong, and every
            report says that the key was used.
    """

    def __init__(self, check: Callable[[str], bool | str], *, oracle: bool = False) -> None:
        self._check = check
        self._oracle = oracle

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.contexts.Tool`."""
        said = self._check(answer_of(candidate))
        right = said if isinstance(said, bool) else not said
        message = "" if right else said if isinstance(said, str) else "the answer is wrong"
        case = CaseOutcome(id=CASE, result=CaseResult.PASSED if right else CaseResult.FAILED, message=message)
        return Observation(
            verdict=Verdict.PASS if right else Verdict.FAIL,
            origin=Origin.VERIFIER,
            oracle=self._oracle,
            evidence=Evidence(cases=(case,), detail=message or "the answer holds"),
        )
