"""The tool that judges an answer step by step: rules in code, no opinion."""

from __future__ import annotations

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ToolContext
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.core._steps import StepRules, first_broken
from groundwire.core._tasks import Task
from groundwire.tools._endings import shorten

MESSAGE_CHARS = 600


class StepChecker:
    """A PASS is an answer whose steps all hold and which is accepted as a whole; a FAIL names the first step that does
    not. A check that raises gives no verdict.

    Args:
        rules: what steps must hold to.
        path: the file of the task that holds the answer.
    """

    repeatable = True

    def __init__(self, rules: StepRules, *, path: str = "answer.md") -> None:
        self._rules = rules
        self._path = path

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        try:
            text = candidate.applied_to(task.tree).files.get(self._path, b"").decode()
            steps = self._rules.steps(text)
            broken = await first_broken(self._rules, steps)
            if broken is not None:
                return _failed(
                    f"step {broken.number}", broken.why, f"step {broken.number} of {len(steps)} breaks a rule"
                )
            wrong = self._rules.accept(text) if steps else "nothing was written"
        except Exception as error:  # a stranger's check: that it breaks says nothing about the answer
            said = shorten(f"A check broke: {type(error).__name__}: {error}", MESSAGE_CHARS)
            return Observation(
                verdict=Verdict.NONE,
                reason=NoVerdict.RUNNER_CRASHED,
                origin=Origin.VERIFIER,
                evidence=Evidence(detail=said),
            )
        if wrong:
            return _failed("whole answer", wrong, "the steps hold, and the answer is not accepted")
        case = CaseOutcome(id="whole answer", result=CaseResult.PASSED)
        return Observation(
            verdict=Verdict.PASS,
            origin=Origin.VERIFIER,
            evidence=Evidence(cases=(case,), collected=1, detail=f"{len(steps)} steps hold"),
        )


def _failed(case_id: str, why: str, detail: str) -> Observation:
    case = CaseOutcome(id=case_id, result=CaseResult.FAILED, message=shorten(why, MESSAGE_CHARS))
    return Observation(
        verdict=Verdict.FAIL,
        origin=Origin.VERIFIER,
        evidence=Evidence(cases=(case,), collected=1, detail=detail),
        partial=True,
    )
