"""Makes the last call of a sequence, once; and what is asked before one that can't be undone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ModelCaller, ToolContext
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import Task
from groundwire.core._toolcalls import (
    Answer,
    Call,
    Offers,
    Reviewer,
    Ruling,
    SeenCall,
    Steps,
    anything,
    ruled,
    seen_calls,
)
from groundwire.core._traits import ToolTraits
from groundwire.tools._functions import CallableTool, CallResult, Toolbox, last_line

# Makes the last call of a sequence, once, and says what came back.

OUTPUT_CHARS = 256
"""Longer results are cut to their first and last 128 characters (THOR, arXiv 2509.13761)."""


class ToolCalls:
    """Makes calls. A call that went well says "go on"; one that failed is a FAIL of origin `tool_error`.

    A failure names the step that made the call, so that this step is made anew and those before it stay. Arguments are
    checked against the schema first: what does not fit is not called. Nothing is ever called a second time for the same
    steps.

    Args:
        toolbox: what may be called.
        chars: characters of a result that are kept, half of them from each end.
        offers: what may be done next; a step that is not on offer is refused.
    """

    traits = ToolTraits(never_passes=True)

    def __init__(self, toolbox: Toolbox, *, chars: int = OUTPUT_CHARS, offers: Offers = anything) -> None:
        self.toolbox = toolbox
        self._chars = chars
        self._offers = offers

    def can_be_undone(self, candidate: Candidate) -> bool:
        """See `groundwire.core._contexts.ActingTool`."""
        last = Steps.of(candidate).last
        return not (isinstance(last, Call) and self.toolbox.is_irreversible(last.tool))

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        steps = Steps.of(candidate)
        started = time.monotonic()
        tool, refused = self._looked_up(steps, context)
        if tool is None:
            outcome = CallResult(refused, ok=False)
        else:
            call = steps.calls[-1]
            outcome = await tool.call(call.arguments)
        return self._observed(steps, outcome, time.monotonic() - started)

    def _looked_up(self, steps: Steps, context: ToolContext) -> tuple[CallableTool | None, str]:
        """The tool to call, or why nothing is called."""
        offer = self._offers(seen_calls(steps.first(len(steps.steps) - 1), context.past()))
        call = steps.last
        if call is None or isinstance(call, Answer):
            return None, offer.why or "an answer is no call"
        if not offer.calls:
            return None, offer.why or "no further call is on offer"
        tool = self.toolbox.get(call.tool)
        if tool is None:
            return None, f"there is no tool {call.tool!r}; there are {_names(self.toolbox)}"
        if tool.once and any(call.line == earlier.line for earlier in steps.calls[:-1]):
            return None, "this very call was made before; make another one"
        return (None, f"arguments: {problem}") if (problem := tool.problem(call.arguments)) else (tool, "")

    def _observed(self, steps: Steps, outcome: CallResult, seconds: float) -> Observation:
        if not outcome.ok:
            said = last_line(outcome.text)
            case = CaseOutcome(id=steps.ids[-1], result=CaseResult.ERROR, message=said)
            return Observation(
                verdict=Verdict.FAIL,
                origin=Origin.TOOL_ERROR,
                duration_s=seconds,
                evidence=Evidence(cases=(case,), detail=f"step {len(steps.steps)}: {said}"),
            )
        shown, cut = trimmed(outcome.text, self._chars)
        return Observation(
            verdict=Verdict.NONE,
            reason=NoVerdict.GO_ON,
            origin=Origin.EXECUTION,
            duration_s=seconds,
            evidence=Evidence(stdout=shown, stdout_cut=cut, detail=f"step {len(steps.steps)} went well"),
        )


def trimmed(text: str, chars: int) -> tuple[str, int]:
    """The first and last halves of a text that is too long, and how many characters were cut."""
    cut = len(text) - chars
    if cut <= 0:
        return text, 0
    half = chars // 2
    return f"{text[:half]} […] {text[len(text) - half :]}", cut


def _names(toolbox: Toolbox) -> str:
    names: Sequence[str] = [spec.name for spec in toolbox.specs]
    return ", ".join(names) or "none"


# Before a call that can't be undone: a rule or another model looks at it (GUI-Critic-R1, arXiv 2506.04614).


class RuleReviewer:
    """A policy in plain code.

    Args:
        rule: gets the call; gives a ruling.
    """

    def __init__(self, rule: Callable[[Call], Ruling]) -> None:
        self._rule = rule

    async def review(self, steps: Steps, seen: Sequence[SeenCall], task: Task, call: ModelCaller) -> Ruling:
        """See `groundwire.core._toolcalls.Reviewer`."""
        return self._rule(steps.calls[-1])


class Preflight:
    """Asks a reviewer before a call is made. Its "go on" approves and never passes: that comes after the work.

    A veto is a FAIL that names the step, with the reviewer's suggestion for the actor; doubt is no verdict, for a
    person to settle.

    Args:
        reviewer: a rule, or a model other than the actor's.
    """

    traits = ToolTraits(never_passes=True)

    def __init__(self, reviewer: Reviewer) -> None:
        self._reviewer = reviewer

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        steps = Steps.of(candidate)
        seen = seen_calls(steps, context.past())
        return ruled(await self._reviewer.review(steps, seen, task, context.call), steps, Origin.VERIFIER)
