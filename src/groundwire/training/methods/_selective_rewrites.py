"""Of an answer and its rewrite, the one that suits the student: Selective Reflection-Tuning (arXiv 2402.10110).

A better text is no better data if the model to be trained can't learn from it. The student's own losses decide: the
instruction-following difficulty IFD = ppl(y|x) / ppl(y) says how much is left to learn, the reversed one
ppl(x|y) / ppl(x) how well the answer tells what was asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from groundwire.training._answers import Answer, judged_in
from groundwire.training._grouping import by_group
from groundwire.training._losses import Losses
from groundwire.training._provenance import provenance_of
from groundwire.training._schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training._trajectories import Trajectory

Kept = Literal["original", "rewrite"]
By = Literal["ifd", "reversed_ifd"]


class SelectiveRewriteRow(Row):
    """One question with the answer that was kept, and the scores of both."""

    prompt: tuple[ChatMessage, ...]
    """What was asked first."""
    completion: tuple[ChatMessage, ...]
    """The answer that was kept."""
    kept: Kept
    """Which of the two it is."""
    by: By
    """The score that decided: the reversed IFD where it is known of both, else the IFD."""
    ifd_original: float | None
    """IFD of the first answer; an IFD above 1 says that the prompt is in the way."""
    ifd_rewrite: float | None
    """IFD of the later one."""
    reversed_ifd_original: float | None
    """Reversed IFD of the first answer."""
    reversed_ifd_rewrite: float | None
    """Reversed IFD of the later one."""


def better(original: Losses, rewrite: Losses, by: By) -> Kept | None:
    """Which of the two the student should be given; the original where both score the same; None: a score is missing.

    By `ifd` the higher one, as long as it is at most 1, is better: the student has something to learn. By
    `reversed_ifd` the lower one is. Source: arXiv 2402.10110, selection of instructions and of responses.
    """
    if by == "reversed_ifd":
        first, second = original.reversed_ifd, rewrite.reversed_ifd
        return None if first is None or second is None else "rewrite" if second < first else "original"
    first, second = original.ifd, rewrite.ifd
    if first is None or second is None:
        return None
    return "rewrite" if _worth(second) > _worth(first) else "original"


def _worth(ifd: float) -> tuple[bool, float]:
    # above 1 the answer is likelier without the prompt: nothing about the prompt can be learned from it
    return (True, ifd) if ifd <= 1 else (False, -ifd)


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row for each right answer after the first right one to the same question that says something else."""
    for episodes in by_group(trajectories):
        answers, rejected = judged_in(episodes)
        yield from rejected
        if right := [answer for answer in answers if answer.reward == 1.0]:
            yield from _rows_of(right, options)


def _rows_of(right: Sequence[Answer], options: Options) -> Iterator[Row | Rejected]:
    original = right[0]
    rewrites = [answer for answer in right if answer.turn.text != original.turn.text]
    if not rewrites:
        yield Rejected("no_rewrite", original.trajectory.episode)
    for rewrite in rewrites:
        first, second = options.losses.get(original.turn.id), options.losses.get(rewrite.turn.id)
        if first is None or second is None:
            yield Rejected("losses_unknown", rewrite.trajectory.episode)
            continue
        by: By = "reversed_ifd" if None not in (first.reversed_ifd, second.reversed_ifd) else "ifd"
        kept = better(first, second, by)
        if kept is None:
            yield Rejected("losses_unknown", rewrite.trajectory.episode)
            continue
        answer = original if kept == "original" else rewrite
        parts = original.prompt_parts + answer.completion_parts("completion[0]")
        yield SelectiveRewriteRow(
            provenance=provenance_of([answer.source], parts, options, turns=[answer.turn]),
            prompt=original.prompt,
            completion=(answer.completion,),
            kept=kept,
            by=by,
            ifd_original=first.ifd,
            ifd_rewrite=second.ifd,
            reversed_ifd_original=first.reversed_ifd,
            reversed_ifd_rewrite=second.reversed_ifd,
        )


FORM = Form(
    name="selective_rewrites",
    row=SelectiveRewriteRow,
    make=rows,
    about="Of two right answers, the one that suits the student by --losses, both scores told (arXiv 2402.10110).",
)
