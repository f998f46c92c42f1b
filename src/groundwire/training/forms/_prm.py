"""Steps with a label each: TRL's stepwise supervision (process reward models, arXiv 2305.20050).

A step is what executed checks told apart: a line of an answer that a step checker went through, up to the first broken
one; else an attempt, in the order in which they were judged, or an action in a world.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from groundwire.core._signals import NoVerdict
from groundwire.core._steps import by_lines
from groundwire.training._answers import ModelAnswer, answers_of, as_text
from groundwire.training._provenance import provenance_of
from groundwire.training._schema import Form, Options, Part, Rejected, Row
from groundwire.training._trajectories import Author, Seen, Trajectory
from groundwire.training._walks import seen_after

_BROKEN = re.compile(r"step (\d+) of (\d+) breaks a rule")
_HELD = re.compile(r"(\d+) steps hold")


UNSAID = -100
"""The label of a step that no verdict was given on, as PyTorch's losses leave it out."""


class PrmRow(Row):
    """The steps of one answer or trial."""

    prompt: str
    """What was asked first, as plain text."""
    completions: tuple[str, ...]
    """The steps. An action in a world, from the second on, is headed by what came back from the one before it."""
    labels: tuple[int, ...]
    """Of each step: 1 where an executed check passed it, 0 where one failed it, -100 (no loss) where it was only
    accepted: nobody said that it is right."""
    basis: tuple[Literal["verdict", "accepted"], ...]
    """What a label rests on: a verdict; or only that the world, or the checker, took the step and went on."""
    unit: Literal["line", "attempt", "action"]
    """What a step is."""
    first_error: int | None
    """Index of the first step whose label is 0."""


@dataclass(frozen=True)
class _Step:
    text: str
    holds: bool
    basis: Literal["verdict", "accepted"]
    seen: int = 0
    """Characters at its beginning that the world showed."""


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row an answer whose steps were checked; else one a trial in a world, or one an episode."""
    for trajectory in trajectories:
        answers: list[ModelAnswer] = []
        for answer in answers_of(trajectory):
            if isinstance(answer, Rejected):
                yield answer
            elif answer.is_twin:
                continue
            elif (lines := _checked_lines(answer)) is not None:
                yield _row_of([answer], lines, "line", options)
            else:
                answers.append(answer)
        walked = [answer for answer in answers if _went_on(answer) or answer.judged is not answer.attempt]
        trials = {answer.attempt.trial for answer in walked}
        for number in sorted(trials):
            taken = [answer for answer in answers if answer.attempt.trial == number]
            yield _row_of(taken, list(_actions(taken)), "action", options)
        tried = [answer for answer in answers if answer.attempt.trial not in trials]
        if tried:
            yield _row_of(tried, [_step_of(answer) for answer in tried], "attempt", options)


def _actions(taken: Sequence[ModelAnswer]) -> Iterator[_Step]:
    """The steps of a trial, each headed by what the one before it came to."""
    before = ""
    for answer in taken:
        step = _step_of(answer)
        yield replace(step, text=f"{before}\n{step.text}" if before else step.text, seen=len(before))
        before = seen_after(answer.attempt)


def _went_on(answer: ModelAnswer) -> bool:
    return any(signal.reason is NoVerdict.GO_ON for signal in answer.attempt.signals)


def _step_of(answer: ModelAnswer) -> _Step:
    if answer.attempt.failed:
        return _Step(answer.completion.content, holds=False, basis="verdict")
    decided = answer.attempt.reward is not None
    return _Step(answer.completion.content, holds=True, basis="verdict" if decided else "accepted")


def _checked_lines(answer: ModelAnswer) -> list[_Step] | None:
    """The lines of an answer that a step checker went through; None where none did, or its steps were no lines."""
    if len(answer.attempt.changes) != 1 or not answer.attempt.changes[0].content:
        return None
    text = answer.attempt.changes[0].content
    lines = list(by_lines(text))
    rest = text[sum(map(len, lines)) :]
    lines += [rest] if rest else []
    told = next((found for signal in answer.attempt.signals if (found := _told(signal)) is not None), None)
    if told is None or told[1] != len(lines):
        return None
    broken = told[0]
    kept = lines if broken is None else lines[:broken]
    return [
        _Step(line, holds=number != broken, basis="verdict" if broken is None or number == broken else "accepted")
        for number, line in enumerate(kept, 1)
    ]


def _told(signal: Seen) -> tuple[int | None, int] | None:
    """The number of the first broken step, if any, and of all steps, where the signal is a step checker's."""
    if not signal.executed:
        return None
    if (match := _BROKEN.fullmatch(signal.detail)) is not None:
        return int(match[1]), int(match[2])
    return (None, int(match[1])) if (match := _HELD.fullmatch(signal.detail)) is not None else None


def _row_of(
    answers: Sequence[ModelAnswer], steps: Sequence[_Step], unit: Literal["line", "attempt", "action"], options: Options
) -> Row:
    first = answers[0]
    labels = tuple(int(step.holds) if step.basis == "verdict" else UNSAID for step in steps)
    prompt = as_text(first.prompt)
    parts = list(_plain_parts(first))
    for n, step in enumerate(steps):
        place = f"completions[{n}]"
        parts += [Part(part=place, end=step.seen, origin=Author.ENV, what="scene")] if step.seen else []
        parts.append(Part(part=place, start=step.seen, end=len(step.text), origin=Author.MODEL, what=unit))
    return PrmRow(
        provenance=provenance_of(
            [answer.source for answer in answers], parts, options, turns=[answer.turn for answer in answers]
        ),
        prompt=prompt,
        completions=tuple(step.text for step in steps),
        labels=labels,
        basis=tuple(step.basis for step in steps),
        unit=unit,
        first_error=labels.index(0) if 0 in labels else None,
    )


def _plain_parts(answer: ModelAnswer) -> Iterator[Part]:
    """Who wrote which part of the prompt, when its messages stand in one text."""
    start = 0
    for index, message in enumerate(answer.prompt):
        for part in answer.prompt_parts:
            if part.part == f"prompt[{index}]":
                moved = {"part": "prompt", "start": start + part.start, "end": start + part.end}
                yield part.model_copy(update=moved)
        start += len(message.content) + len("\n\n")


FORM = Form(
    name="prm",
    row=PrmRow,
    make=rows,
    about="Process supervision: prompt, steps and a label each by executed checks, in TRL's stepwise form.",
)
