"""Every step of an answer with the outcome of the whole: step scores without step labels (SPRM, arXiv 2507.01951).

A step ends at an empty line, or at the end of a line where there is none. The steps of one answer, put together again,
are its text, letter for letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from groundwire.training._answers import Answer, answers_of
from groundwire.training._provenance import provenance_of, written_by
from groundwire.training._schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training._trajectories import Author, Trajectory

_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")


class ScoreStepRow(Row):
    """One step of one answer."""

    answers = frozenset({"step"})

    prompt: tuple[ChatMessage, ...]
    """What was asked, as it was sent."""
    answer: str
    """Id of the answer that the step is of; rows of the same one belong together."""
    index: int
    """Of the step, counted from 0."""
    steps: int
    """Steps of the whole answer."""
    step: str
    """The step."""
    start: int
    """Of its first character in the answer."""
    end: int
    """Behind its last one."""
    outcome: float
    """1.0 or 0.0 of the whole answer, by executed checks alone; the step itself was not judged."""


def step_offsets(text: str) -> list[tuple[int, int]]:
    """Begin and end of each step; they follow each other without a gap."""
    ends = [match.end() for match in _PARAGRAPH.finditer(text)]
    if not ends:
        ends = [place + 1 for place, char in enumerate(text) if char == "\n"]
    bounds = [0, *(end for end in ends if end < len(text)), len(text)]
    return [(start, end) for start, end in pairwise(bounds) if start < end]


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row a step of every answer."""
    for trajectory in trajectories:
        for answer in answers_of(trajectory):
            if isinstance(answer, Rejected):
                yield answer
            elif not answer.turn.text:
                yield Rejected("empty_answer", trajectory.episode)
            else:
                yield from _rows_of(answer, options)


def _rows_of(answer: Answer, options: Options) -> Iterator[Row]:
    text = answer.turn.text
    offsets = step_offsets(text)
    for index, (start, end) in enumerate(offsets):
        step = text[start:end]
        parts = (*answer.prompt_parts, written_by(Author.MODEL, "step", step, "step"))
        yield ScoreStepRow(
            provenance=provenance_of([answer.source], parts, options, turns=[answer.turn]),
            prompt=answer.prompt,
            answer=answer.turn.id,
            index=index,
            steps=len(offsets),
            step=step,
            start=start,
            end=end,
            outcome=answer.reward,
        )


FORM = Form(
    name="score_steps",
    row=ScoreStepRow,
    make=rows,
    about="One row a step with the outcome of the whole answer: for a score head (SPRM, arXiv 2507.01951).",
    repeats=True,
)
