"""Wrong answers with their kind of error, joined to a right one: LEMMA (arXiv 2503.17439).

Each failed attempt gives two rows. `fix_continue` keeps the wrong answer up to its first line that the right one does
not have, says what is wrong, and goes on as the right one does; `fresh_restart` shows the whole wrong answer, says what
is wrong, and begins anew. The wrong part is shown and not learned.

LEMMA's teacher plants errors as often as the student makes each kind; here the errors are the student's own, so their
histogram is the log's (`error_histogram`).
"""

from __future__ import annotations

import builtins
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Literal

from pydantic import BaseModel, ConfigDict

from groundwire.core._signals import Origin, Verdict
from groundwire.training._answers import Answer, judged_in
from groundwire.training._grouping import by_group
from groundwire.training._provenance import provenance_of
from groundwire.training._schema import ChatMessage, Form, Options, Part, Rejected, Row
from groundwire.training._trajectories import Attempt, Author, Trajectory

KINDS = {
    Origin.HIDDEN_TESTS: "failed_hidden_test",
    Origin.TESTS: "failed_test",
    Origin.EXECUTION: "failed_execution",
    Origin.ENVIRONMENT: "failed_in_world",
    Origin.TOOL_ERROR: "tool_error",
    Origin.VERIFIER: "wrong_answer",
}
"""By what failed an attempt, where no exception is named."""
EXCEPTIONS = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
)
BRIDGE = "That is not right."
"""Where no critic said what is wrong."""
AGAIN = "Let me begin anew."
_EXCEPTION = re.compile(r"\b[A-Z][A-Za-z]{2,40}\b")
Variant = Literal["fix_continue", "fresh_restart"]
Kind = Literal["wrong", "bridge", "right"]


class Segment(BaseModel):
    """A part of the completion. Segments follow each other without a gap."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    kind: Kind
    """What it is."""
    start: int
    """Of its first character."""
    end: int
    """Behind its last one."""
    loss: bool
    """True where it is learned."""


class ErrorRecoveryRow(Row):
    """One failed attempt and its recovery."""

    prompt: tuple[ChatMessage, ...]
    """What was asked when the wrong answer was given."""
    completion: tuple[ChatMessage, ...]
    """The wrong part, what is wrong, and the right part, as one answer."""
    segments: tuple[Segment, ...]
    """Which is which."""
    variant: Variant
    """How the two were joined."""
    error_type: str
    """A built-in exception of Python, where a check named one; else what kind of check failed it."""
    same_episode: bool
    """True where the right answer came later in the same episode; else it was given to the same question elsewhere."""


def error_type(attempt: Attempt) -> str:
    """The kind of a failed attempt's error, out of a closed list, whatever a hostile program wrote; empty: none failed.

    Hidden tests tell nothing but that they failed.
    """
    failing = [signal for signal in attempt.signals if signal.executed and signal.verdict is Verdict.FAIL]
    for signal in failing:
        if not signal.hidden:
            said = [*(message for _, message in signal.failed), signal.detail, signal.stderr]
            named = (name for text in said for name in _EXCEPTION.findall(text) if name in EXCEPTIONS)
            if (found := next(named, None)) is not None:
                return found
    return KINDS.get(failing[0].origin, "other") if failing else ""


def error_histogram(trajectories: Iterable[Trajectory]) -> Counter[str]:
    """How often each kind of error came, over all failed attempts that a model made."""
    return Counter(
        kind
        for trajectory in trajectories
        for attempt in trajectory.attempts
        if attempt.turn and (kind := error_type(attempt))
    )


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """Two rows a failed attempt for which there is a right answer."""
    for episodes in by_group(trajectories):
        judged, rejected = judged_in(episodes)
        yield from rejected
        answers = [answer for answer in judged if not answer.is_twin]
        right = [answer for answer in answers if answer.reward == 1.0]
        for wrong in answers:
            if not (kind := error_type(wrong.attempt)):
                continue
            recovery = _recovery(wrong, right)
            if recovery is None:
                yield Rejected("no_right_answer", wrong.trajectory.episode)
                continue
            yield _row_of(wrong, recovery, kind, "fix_continue", options)
            yield _row_of(wrong, recovery, kind, "fresh_restart", options)


def _recovery(wrong: Answer, right: Sequence[Answer]) -> Answer | None:
    """The next right answer of the same episode, else one to the same question."""
    own = (a for a in right if a.trajectory is wrong.trajectory and a.turn.at > wrong.turn.at)
    return next(own, None) or next(iter(right), None)


def _row_of(wrong: Answer, right: Answer, kind: str, variant: Variant, options: Options) -> Row:
    failed, repaired = wrong.completion.content, right.completion.content
    said = next((r for r in wrong.trajectory.remarks if r.candidate == wrong.attempt.digest and r.text.strip()), None)
    why = said.text.strip() if said else BRIDGE
    if variant == "fix_continue":
        failed, repaired = _from_the_error_on(failed, repaired)
        bridge = f"\n\n{why}\n\n"
    else:
        bridge = f"\n\n{why} {AGAIN}\n\n"
    texts: tuple[tuple[Kind, str, Author], ...] = (
        ("wrong", failed, Author.MODEL),
        ("bridge", bridge, said.author if said else Author.HUMAN),
        ("right", repaired, Author.MODEL),
    )
    segments: list[Segment] = []
    parts: list[Part] = list(wrong.prompt_parts)
    end = 0
    for name, text, author in texts:
        if text:
            segments.append(Segment(kind=name, start=end, end=end + len(text), loss=name != "wrong"))
            parts.append(Part(part="completion[0]", start=end, end=end + len(text), origin=author, what=name))
            end += len(text)
    sources = [wrong.source, right.source]
    return ErrorRecoveryRow(
        provenance=provenance_of(sources, parts, options, turns=[wrong.turn, right.turn]),
        prompt=wrong.prompt,
        completion=(ChatMessage(role="assistant", content=failed + bridge + repaired),),
        segments=tuple(segments),
        variant=variant,
        error_type=kind,
        same_episode=wrong.trajectory is right.trajectory,
    )


def _from_the_error_on(wrong: str, right: str) -> tuple[str, str]:
    """The wrong answer through its first line that differs, and the right one from there on."""
    failed, repaired = wrong.splitlines(keepends=True), right.splitlines(keepends=True)
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(failed, repaired, strict=False))
    shared = sum(1 for _ in alike)
    return "".join(failed[: shared + 1]), "".join(repaired[shared:]) or right


FORM = Form(
    name="error_recovery",
    row=ErrorRecoveryRow,
    make=rows,
    about="Failed attempts by their kind of error, joined to a right answer in two ways (LEMMA, arXiv 2503.17439).",
    repeats=True,
)
