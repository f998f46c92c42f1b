"""What an actor that uses tools has done so far, as a candidate: its calls in order, and at the end an answer.

A candidate holds the whole sequence in one file, a line of JSON a step. To append a step is to let that file grow,
which `advance` allows; to take one back is a rewrite, which needs `refine`. What the calls gave back is not in the
candidate: it is in the signals about it and about its beginnings, so no actor can write down an observation of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeAlias

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Judged, ModelCaller
from groundwire.core._errors import CandidateError
from groundwire.core._signals import (
    CaseOutcome,
    CaseResult,
    Evidence,
    NoVerdict,
    Observation,
    Origin,
    Signal,
    Verdict,
    canonical,
)
from groundwire.core._tasks import Task

PATH = "steps.jsonl"
RELEVANT = "relevant"
"""The case by which a search is labelled."""
ID_CHARS = 8


@dataclass(frozen=True)
class Call:
    """A call of one tool; as hostile as any text of a model.

    Args:
        tool: its name.
        arguments: by name.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @cached_property
    def line(self) -> str:
        """Canonical JSON: two calls are the same if these are equal."""
        return canonical({"tool": self.tool, "arguments": self.arguments})


@dataclass(frozen=True)
class Answer:
    """The answer that ends a sequence."""

    text: str

    @cached_property
    def line(self) -> str:
        """Canonical JSON."""
        return canonical({"answer": self.text})


Step: TypeAlias = Call | Answer


@dataclass(frozen=True)
class Steps:
    """A sequence of calls, with at most one answer, at its end.

    Args:
        base_digest: digest of the task's tree.
        steps: in order.
    """

    base_digest: str
    steps: tuple[Step, ...] = ()

    @classmethod
    def of(cls, candidate: Candidate) -> Steps:
        """Reads a candidate.

        Raises:
            CandidateError: it is no sequence of steps.
        """
        lines = (candidate.changes.get(PATH) or b"").decode("utf-8", "replace").split("\n")[:-1]
        return cls(candidate.base_digest, tuple(_step(line) for line in lines))

    @property
    def candidate(self) -> Candidate:
        """The sequence as a candidate; the empty one is the base."""
        if not self.steps:
            return Candidate(self.base_digest, {})
        last = self.steps[-1]
        note = f"answer after {len(self.calls)} calls" if isinstance(last, Answer) else f"call {len(self.steps)}"
        return Candidate(self.base_digest, {PATH: self._body(len(self.steps))}, ("tool.step",), note)

    @property
    def last(self) -> Step | None:
        """The step that was made last."""
        return self.steps[-1] if self.steps else None

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls."""
        return tuple(step for step in self.steps if isinstance(step, Call))

    @property
    def ids(self) -> tuple[str, ...]:
        """An id for each step, over all that led to it: one that was kept keeps it, one made anew has another."""
        digests = (hashlib.sha256(self._body(n)).hexdigest() for n in range(1, len(self.steps) + 1))
        return tuple(f"c{digest[:ID_CHARS]}" for digest in digests)

    def then(self, step: Step) -> Steps:
        """With one step more."""
        return Steps(self.base_digest, (*self.steps, step))

    def first(self, count: int) -> Steps:
        """The first `count` steps."""
        return Steps(self.base_digest, self.steps[:count])

    def cut_at(self, signal: Signal) -> Steps:
        """What stays before the step that failed: the first whose id the failing cases name, else the last one."""
        named = {case.id for case in signal.evidence.failed()}
        place = next((i for i, name in enumerate(self.ids) if name in named), len(self.steps) - 1)
        return self.first(max(place, 0))

    def _body(self, count: int) -> bytes:
        return "".join(f"{step.line}\n" for step in self.steps[:count]).encode()


@dataclass(frozen=True)
class SeenCall:
    """A call that was made, and what tools said of it.

    Args:
        id: the step's id.
        call: the call.
        output: what came back, trimmed.
        labels: what other tools found in it, by the names of their cases: `relevant` → True or False.
    """

    id: str
    call: Call
    output: str
    labels: Mapping[str, bool] = field(default_factory=dict[str, bool])


def seen_calls(steps: Steps, past: Iterable[Judged]) -> tuple[SeenCall, ...]:
    """The calls of a sequence that were made and went well, with what came back, read from the signals about them."""
    signals: dict[str, list[Signal]] = {}
    for judged in past:
        if judged.signal.verdict is Verdict.NONE:
            signals.setdefault(judged.candidate.digest, []).append(judged.signal)
    found: list[SeenCall] = []
    for place, (step, name) in enumerate(zip(steps.steps, steps.ids, strict=True), 1):
        about = signals.get(steps.first(place).candidate.digest, [])
        made = next((s for s in about if s.origin in (Origin.EXECUTION, Origin.ENVIRONMENT)), None)
        if isinstance(step, Call) and made is not None:
            labels = {case.id: case.result.ok for signal in about for case in signal.evidence.cases}
            found.append(SeenCall(name, step, made.evidence.stdout, labels))
    return tuple(found)


def failed_here(steps: Steps, past: Iterable[Judged]) -> tuple[tuple[Step, Signal], ...]:
    """What was tried after these very steps and failed, in order; of each step the last word."""
    found: dict[str, tuple[Step, Signal]] = {}
    for judged in past:
        if judged.signal.verdict is Verdict.FAIL and not judged.candidate.is_base:
            tried = Steps.of(judged.candidate)
            if tried.cut_at(judged.signal) == steps:
                found[judged.candidate.digest] = (tried.steps[len(steps.steps)], judged.signal)
    return tuple(found.values())


def answer_of(candidate: Candidate) -> str:
    """The answer that a sequence ends with; empty where there is none."""
    last = Steps.of(candidate).last
    return last.text if isinstance(last, Answer) else ""


@dataclass(frozen=True)
class Offer:
    """What an actor may do next.

    Args:
        calls: True if it may call tools.
        answer: True if it may answer.
        why: said to it where one of them is not on offer.
    """

    calls: bool = True
    answer: bool = True
    why: str = ""


class Offers(Protocol):
    """Says what may be done next, from what was seen: a rule, and never a model's own opinion."""

    def __call__(self, seen: Sequence[SeenCall]) -> Offer:
        """The offer after these calls."""
        ...


def anything(seen: Sequence[SeenCall]) -> Offer:
    """Calls and answers are always on offer."""
    return Offer()


@dataclass(frozen=True)
class Ruling:
    """What a reviewer says of a call before it is made.

    Args:
        verdict: True: make it. False: a veto. None: in doubt.
        why: the reason, in one line.
        suggestion: what to do instead, for the actor.
    """

    verdict: bool | None
    why: str = ""
    suggestion: str = ""


def ruled(ruling: Ruling, steps: Steps, origin: Origin) -> Observation:
    """A ruling as an observation about the last step."""
    if ruling.verdict is False:
        said = "; instead: ".join(part for part in (ruling.why or "vetoed", ruling.suggestion) if part)
        case = CaseOutcome(id=steps.ids[-1], result=CaseResult.FAILED, message=said)
        return Observation(verdict=Verdict.FAIL, origin=origin, evidence=Evidence(cases=(case,), detail=said))
    reason = NoVerdict.GO_ON if ruling.verdict else NoVerdict.UNDECIDED
    said = ruling.why or ("approved" if ruling.verdict else "in doubt")
    return Observation(verdict=Verdict.NONE, reason=reason, origin=origin, evidence=Evidence(detail=said))


class Reviewer(Protocol):
    """Looks at a call before it is made: a rule, a policy, or another model than the actor's."""

    async def review(self, steps: Steps, seen: Sequence[SeenCall], task: Task, call: ModelCaller) -> Ruling:
        """Rules on the last step.

        Args:
            steps: all of them.
            seen: what the earlier ones gave back.
            task: the task.
            call: calls a model; whoever uses it is another model, and its word is marked so.

        Raises:
            ModelError, BudgetExceeded: from `call`.
        """
        ...


def _step(line: str) -> Step:
    try:
        read: Any = json.loads(line)
        match read:
            case {"answer": str(text)}:
                return Answer(text)
            case {"tool": str(tool), "arguments": dict()} as call:
                return Call(tool, call["arguments"])
            case _:
                raise ValueError("it is neither a call nor an answer")
    except (ValueError, RecursionError) as error:
        raise CandidateError(f"A step can't be read: {error}.", do="Make candidates with `Steps`.") from None
