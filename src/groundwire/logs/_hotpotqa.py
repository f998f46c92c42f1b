"""Reflexion's logs on HotpotQA: the full text of every trial, question by question.

A file is a row of trials. Each begins with a banner and its counts, then come the questions that were answered right,
those that were answered wrong, and (where the agent searched) those that were never answered. The text of a question
ends with a line `Correct answer: …`, which is the signal that the log's agents were given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from groundwire.core._errors import RecordingError
from groundwire.core._paths import at_home
from groundwire.core._text import lines_of

MAX_CHARS = 4 * 1024 * 1024
"""Characters of the text of one question."""

_BANNER = re.compile(r"BEGIN TRIAL (\d+)")
_SUMMARY = re.compile(r"Trial summary: Correct: (\d+), Incorrect: (\d+)(?:, Halted: (\d+))?")
_SECTION = re.compile(r"-{5,} BEGIN (CORRECT|INCORRECT|HALTED) AGENTS -{5,}")
_RULE = re.compile(r"#{5,}")
_QUESTION = re.compile(r"(?:^|(?<= ))Question: (.*)")
_RETRY = re.compile(r"You have attempted to answer (?:the )?following question before and failed\..*")
_STEP = re.compile(r"(?:Thought|Action|Observation)(?: \d+)?:|Correct answer:")
_FINISH = re.compile(r"Action(?: \d+)?: Finish\[(.*)\]")
_END = "Correct answer:"
_REFLECTIONS = "Reflections:"


class Outcome(StrEnum):
    """How a question ended in one trial, by exact match with the gold answer."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    HALTED = "halted"
    """No answer within the steps there were."""


@dataclass(frozen=True)
class TrialSummary:
    """What the log says about a trial as a whole.

    Args:
        trial: counted from 1.
        halted: None where the kind of agent can't halt.
    """

    trial: int
    correct: int
    incorrect: int
    halted: int | None = None


@dataclass(frozen=True)
class Answered:
    """One question in one trial.

    Args:
        trial: counted from 1.
        outcome: as logged. What was right in an earlier trial is right in all later ones; a wrong answer in the very
            last step is in the log twice, as incorrect and as halted.
        question: the question.
        answer: what the agent answered last; empty where it did not, or where the log has dropped it (the last two
            trials of the searching agent with reflections).
        correct_answer: the gold answer.
        reflections: texts on earlier failures, oldest first.
        text: everything, as it stands in the log.
    """

    trial: int
    outcome: Outcome
    question: str
    answer: str
    correct_answer: str
    reflections: tuple[str, ...]
    text: str


@dataclass
class _Place:
    """Where in the file the reader is."""

    trial: int = 0
    outcome: Outcome | None = None
    lines: list[str] = field(default_factory=list[str])
    chars: int = 0


def read_hotpotqa(path: str | Path) -> Iterator[TrialSummary | Answered]:
    """The trials of a log, plain or gzipped: for each its summary, then its questions, one at a time.

    Raises:
        RecordingError: the file can't be read, is damaged or cut short, or is no such log; with the line's number.
    """
    file = at_home(path)
    place = _Place()
    number = 0
    for number, line in lines_of(file):
        where = f"{file}:{number}"
        if banner := _BANNER.fullmatch(line):
            _check_between(place, where)
            place = _Place(trial=int(banner[1]))
        elif place.trial and (summary := _SUMMARY.fullmatch(line)):
            correct, incorrect, halted = (None if n is None else int(n) for n in summary.groups())
            yield TrialSummary(place.trial, correct or 0, incorrect or 0, halted)
        elif place.trial and (section := _SECTION.fullmatch(line)):
            _check_between(place, where)
            place.outcome = Outcome(section[1].lower())
        elif place.outcome is None:
            _check_nothing(line, where)
        elif not (place.lines or line.strip()) or _RULE.fullmatch(line):
            continue
        else:
            place.lines.append(line)
            place.chars += len(line)
            if place.chars > MAX_CHARS:
                raise RecordingError(f"{where}: the text of one question is longer than {MAX_CHARS >> 20} MiB.")
            if line.startswith(_END):
                yield _answered(place.trial, place.outcome, place.lines, where)
                place.lines, place.chars = [], 0
    if not place.trial:
        raise RecordingError(f"{file}: this is no HotpotQA log of Reflexion: no trial begins.", do="Check the file.")
    _check_between(place, f"{file}:{number}")


def _check_between(place: _Place, where: str) -> None:
    if place.lines:
        raise RecordingError(
            f"{where}: a question of trial {place.trial} ends without its line {_END!r}.",
            do="Fetch or copy the file again: it is cut short or damaged.",
        )


def _check_nothing(line: str, where: str) -> None:
    if line.strip() and not _RULE.fullmatch(line):
        raise RecordingError(
            f"{where}: this is no HotpotQA log of Reflexion: text stands outside of a trial.", do="Check the file."
        )


def _answered(trial: int, outcome: Outcome, lines: list[str], where: str) -> Answered:
    question = next((found[1] for line in lines if (found := _QUESTION.search(line))), None)
    if question is None:
        raise RecordingError(f"{where}: the text that ends here holds no line 'Question: …'.", do="Check the file.")
    answers = [found[1] for line in lines if (found := _FINISH.fullmatch(line))]
    return Answered(
        trial=trial,
        outcome=outcome,
        question=_RETRY.sub("", question).strip(),
        answer=answers[-1] if answers else "",
        correct_answer=lines[-1].removeprefix(_END).strip(),
        reflections=tuple(_reflections(lines)),
        text="\n".join(lines),
    )


def _reflections(lines: list[str]) -> Iterator[str]:
    """The texts below `Reflections:`; each begins on a line of its own, and with a dash where several may stand."""
    block: list[str] = []
    inside = False
    for line in lines:
        if line.startswith(_REFLECTIONS):
            inside = True
            line = line.removeprefix(_REFLECTIONS).strip()
        elif _STEP.match(line):
            inside = False
        if inside and line.strip():
            block.append(line)
    dashed = any(line.startswith("- ") for line in block)
    text = ""
    for line in block:
        if text and (line.startswith("- ") or not dashed):
            yield text
            text = ""
        text = f"{text}\n{line}" if text else line.removeprefix("- ") if dashed else line
    if text:
        yield text
