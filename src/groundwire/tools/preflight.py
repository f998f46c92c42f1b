"""Before a call that can't be undone: a rule or another model looks at it (GUI-Critic-R1, arXiv 2506.04614)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from groundwire.contexts import ModelCaller, ToolContext
from groundwire.signals import Observation, Origin
from groundwire.tasks import Task
from groundwire.toolcalls import Call, Reviewer, Ruling, SeenCall, Steps, ruled, seen_calls
from groundwire.trees import Candidate

__all__ = ["Preflight", "RuleReviewer"]


class RuleReviewer:
    """A policy in plain code.

    Args:
        rule: gets the call; gives a ruling.
    """

    def __init__(self, rule: Callable[[Call], Ruling]) -> None:
        self._rule = rule

    async def review(self, steps: Steps, seen: Sequence[SeenCall], task: Task, call: ModelCaller) -> Ruling:
        """See `groundwire.toolcalls.Reviewer`."""
        return self._rule(steps.calls[-1])


class Preflight:
    """Asks a reviewer before a call is made. Its "go on" approves and never passes: that comes after the work.

    A veto is a FAIL that names the step, with the reviewer's suggestion for the actor; doubt is no verdict, for a
    person to settle.

    Args:
        reviewer: a rule, or a model other than the actor's.
    """

    never_passes = True

    def __init__(self, reviewer: Reviewer) -> None:
        self._reviewer = reviewer

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.contexts.Tool`."""
        steps = Steps.of(candidate)
        seen = seen_calls(steps, context.past())
        return ruled(await self._reviewer.review(steps, seen, task, context.call), steps, Origin.VERIFIER)
