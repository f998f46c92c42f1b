"""What a trace spent on thinking again: confirming its answer, leaving right thoughts, steps that did not help."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from groundwire.core._errors import ConfigError
from groundwire.evaluation._rows import share

_SWITCH = re.compile(
    r"\b(?:alternatively|wait|hold on|on second thought|let me (?:try|reconsider)|another (?:way|approach))\b", re.I
)


@dataclass(frozen=True)
class WrongTrace:
    """A trace that ended wrong.

    Args:
        tokens: all of its tokens (T).
        until_right: tokens up to the end of its first correct thought (T̂); None where it had none.
    """

    tokens: int
    until_right: int | None


def underthinking(wrong: Sequence[WrongTrace]) -> float | None:
    """ξ = mean(1 − T̂/T) over wrong answers, from 0 to 1; None where there is none (arXiv 2501.18585).

    A trace without a correct thought could not have stopped in time, so T̂ = T there and it adds 0. Right answers are no
    part of it, which is why only wrong ones can be given.
    """
    terms = [1 - (trace.tokens if trace.until_right is None else trace.until_right) / trace.tokens for trace in wrong]
    return sum(terms) / len(terms) if terms else None


def switches(text: str) -> int:
    """How often a trace says that it turns to another thought (arXiv 2501.18585); a rough count of English phrases."""
    return len(_SWITCH.findall(text))


@dataclass(frozen=True)
class Reflecting:
    """What came after a trace's first candidate answer (arXiv 2510.08308).

    Args:
        first_is_final: True if the first candidate is the last one.
        share: tokens after the first candidate, of all tokens.
        confirming: later candidates that repeat the one before.
        corrective: later candidates that turn a wrong answer into the right one.
        corrupting: later candidates that turn the right answer into a wrong one.
        other: later candidates that change a wrong answer into another wrong one.
    """

    first_is_final: bool
    share: float
    confirming: int
    corrective: int
    corrupting: int
    other: int


def reflecting(candidates: Sequence[tuple[str, int]], tokens: int, answer: str) -> Reflecting | None:
    """Classifies a trace's reflections; None where it holds no candidate answer.

    Args:
        candidates: (normalised answer, tokens until its end) in order.
        tokens: all tokens of the trace.
        answer: the right answer, in the same form: from a key or a check outside the model.
    """
    if not candidates:
        return None
    kinds = [_kind(before, now, answer) for (before, _), (now, _) in pairwise(candidates)]
    return Reflecting(
        first_is_final=candidates[0][0] == candidates[-1][0],
        share=share(tokens - candidates[0][1], tokens) or 0.0,
        confirming=kinds.count("confirming"),
        corrective=kinds.count("corrective"),
        corrupting=kinds.count("corrupting"),
        other=kinds.count("other"),
    )


@dataclass(frozen=True)
class ReasoningTrace:
    """A trace that an early stop is tried on.

    Args:
        candidates: (normalised answer, tokens until its end), in order.
        tokens: all of its tokens.
        answer: the right answer, from a key or a check outside the model.
        worth: what a controller says of the question before its first candidate: True, thinking again is worth paying
            for. Nothing that it is told may be the answer.
    """

    candidates: Sequence[tuple[str, int]]
    tokens: int
    answer: str
    worth: bool = False


@dataclass(frozen=True)
class EarlyStop:
    """What stopping early would have come to (arXiv 2510.08308).

    Args:
        traces: those with a candidate.
        stopped: of these, those that are stopped at their first one.
        saved: tokens that are saved, of all.
        before: share right as they ended.
        after: share right where those are stopped.
    """

    traces: int
    stopped: int
    saved: float
    before: float
    after: float


def early_stop(traces: Sequence[ReasoningTrace]) -> EarlyStop | None:
    """Stops each trace at its first candidate answer (CAD), but for those whose question a controller calls worth more
    (QRC), and says what that saves and costs; afterwards, over traces that ran to their end (arXiv 2510.08308).

    Returns:
        None where no trace holds a candidate.
    """
    told = [trace for trace in traces if trace.candidates]
    if not told:
        return None
    stopped = [trace for trace in told if not trace.worth]
    saved = sum(trace.tokens - trace.candidates[0][1] for trace in stopped)
    before = [trace.candidates[-1][0] == trace.answer for trace in told]
    after = [trace.candidates[-1 if trace.worth else 0][0] == trace.answer for trace in told]
    return EarlyStop(
        len(told),
        len(stopped),
        saved / sum(trace.tokens for trace in told),
        sum(before) / len(told),
        sum(after) / len(told),
    )


def _kind(before: str, now: str, answer: str) -> str:
    if before == now:
        return "confirming"
    if now == answer:
        return "corrective"
    return "corrupting" if before == answer else "other"


@dataclass(frozen=True)
class StepUse:
    """What one step did for the answer, seen afterwards (arXiv 2508.20395).

    Args:
        entropy: H(Y | question, steps up to this one), in nats.
        gain: by how much the step lowered it.
        useful: True if it lowered it by more than the tolerance.
    """

    entropy: float
    gain: float
    useful: bool


def step_uses(
    steps: Sequence[str],
    reference: str | None,
    entropy: Callable[[Sequence[str], str], float],
    *,
    tolerance: float = 1e-6,
) -> Sequence[StepUse]:
    """Which steps helped, told with the answer key: an oracle, for looking back only (arXiv 2508.20395).

    Args:
        steps: of one trace.
        reference: the right answer.
        entropy: a second model's conditional entropy of the reference, in nats, given the steps so far.
        tolerance: in nats; less is no gain.

    Raises:
        ConfigError: there is no reference.
    """
    if not reference:
        raise ConfigError(
            "The use of steps can't be told without the right answer.", do="Give a reference, or leave this metric out."
        )
    found: list[StepUse] = []
    before = entropy([], reference)
    for until in range(1, len(steps) + 1):
        now = entropy(steps[:until], reference)
        found.append(StepUse(now, before - now, before - now > tolerance))
        before = now
    return found
