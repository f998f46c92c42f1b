"""Thinking that goes wrong at one place, to be recovered from: flawed-thinking RL (arXiv 2512.17079).

An answer that was right, cut off behind one step in which one thing is altered: a number, or a word that turns the
reasoning round. A model is begun with that and has to come to the right answer all the same; the reward is that of the
answer alone. The paper mixes both kinds, and so does this: a row of each, where the text has something to alter.

`robustness` says how much of the accuracy is left under such beginnings: a figure, and no training data.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from groundwire.core._errors import ConfigError
from groundwire.training._answers import Answer, answers_of
from groundwire.training._provenance import provenance_of, written_by
from groundwire.training._schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training._trajectories import Author, Trajectory
from groundwire.training.methods._score_steps import step_offsets

Kind = Literal["calculation", "reasoning"]
PROSE = frozenset({".md", ".txt", ".jsonl", ""})
"""Endings of files that an answer may be without being a program; steps of walks are in `.jsonl`."""
KINDS: tuple[Kind, ...] = ("calculation", "reasoning")
TURNED = (
    *(("more", "less"), ("greater", "smaller"), ("larger", "smaller"), ("higher", "lower"), ("before", "after")),
    *(("add", "subtract"), ("adding", "subtracting"), ("plus", "minus"), ("sum", "difference"), ("times", "plus")),
    *(("multiply", "divide"), ("multiplied", "divided"), ("increase", "decrease"), ("increases", "decreases")),
    *(("all", "some"), ("every", "no"), ("always", "never"), ("even", "odd"), ("first", "last"), ("left", "right")),
    *(("positive", "negative"), ("true", "false"), ("must", "need not"), ("can", "cannot"), ("is", "is not")),
    *(("are", "are not"), ("both", "neither"), ("maximum", "minimum"), ("most", "least"), ("above", "below")),
)
"""Words, and what turns a sentence with them round."""
# of a word in two pairs the first counts, and what it is turned into before what turns into it
_OPPOSITES: Mapping[str, str] = {b: a for a, b in reversed(TURNED)} | dict(reversed(TURNED))
_WORDS = re.compile(rf"\b(?:{'|'.join(sorted(_OPPOSITES, key=len, reverse=True))})\b", re.IGNORECASE)
_RESULT = re.compile(r"=\s*[-+]?\$?(\d(?:[\d,]*\d)?(?:\.\d+)?)")
_NUMBER = re.compile(r"(?<![\w.])(\d(?:[\d,]*\d)?(?:\.\d+)?)(?!\w)")
_THOUGHT_ENDS = re.compile(r"\s*</think(?:ing)?>\s*\Z")


@dataclass(frozen=True)
class Flawed:
    """A trace with one step altered.

    Args:
        text: all of it.
        kind: what was altered.
        step: which step, counted from 0; all others are as they were, letter for letter.
        start: of that step in the text.
        end: behind it.
        before: the step as it was.
        after: as it is now.
    """

    text: str
    kind: Kind
    step: int
    start: int
    end: int
    before: str
    after: str


def inject_error(trace: str, kind: Kind, *, seed: int = 0) -> Flawed:
    """Alters exactly one step of a trace.

    Args:
        trace: the steps; one ends at an empty line, or at a line's end where there is none.
        kind: `calculation`: a result, or where there is none a number, becomes another one of as many digits.
            `reasoning`: a word is turned round (more to less, is to is not).
        seed: which of the places; the same trace, kind and seed give the same one. The last step is altered only where
            no other can be.

    Raises:
        ConfigError: there is no such kind, or nothing to alter.
    """
    offsets = step_offsets(trace)
    places = _places(trace, offsets, kind)
    if not places:
        raise ConfigError(f"Nothing in this trace can be altered into an error of {kind}.", do="Try the other kind.")
    chance = random.Random(f"{seed}\0{kind}\0{trace}")
    step, match, group = chance.choice([p for p in places if p[0] < len(offsets) - 1] or places)
    start, end = offsets[step]
    put = _other_number(match[group], chance) if kind == "calculation" else _turned(match[0])
    text = trace[: match.start(group)] + put + trace[match.end(group) :]
    end_now = end + len(text) - len(trace)
    return Flawed(text, kind, step, start, end_now, before=trace[start:end], after=text[start:end_now])


def _places(trace: str, offsets: Sequence[tuple[int, int]], kind: Kind) -> list[tuple[int, re.Match[str], int]]:
    """What may be altered: the step, and the place of it."""
    if kind == "reasoning":
        return [(n, match, 0) for n, (a, b) in enumerate(offsets) for match in _WORDS.finditer(trace, a, b)]
    if kind != "calculation":
        raise ConfigError(f"There is no kind of error {kind!r}.", do=f"Use one of: {', '.join(KINDS)}.")
    results = [(n, match, 1) for n, (a, b) in enumerate(offsets) for match in _RESULT.finditer(trace, a, b)]
    return results or [(n, match, 1) for n, (a, b) in enumerate(offsets) for match in _NUMBER.finditer(trace, a, b)]


def _other_number(number: str, chance: random.Random) -> str:
    """Another number with as many digits; the first is no 0 where it was none."""
    place = chance.choice([at for at, char in enumerate(number) if char.isdigit()])
    others = [digit for digit in "0123456789" if digit != number[place] and (digit != "0" or place or len(number) == 1)]
    return number[:place] + chance.choice(others) + number[place + 1 :]


def _turned(word: str) -> str:
    put = _OPPOSITES[word.lower()]
    return put.upper() if word.isupper() and len(word) > 1 else put.capitalize() if word[0].isupper() else put


class FlawedRow(Row):
    """A question, and an answer begun wrongly."""

    # `before` is right, and may well name the answer
    answers = frozenset({"before"})

    prompt: tuple[ChatMessage, ...]
    """What was asked, as it was sent."""
    prefill: str
    """How the answer is begun: the steps as they were, and last the altered one."""
    kind: Kind
    """What was altered."""
    step: int
    """Which step, counted from 0."""
    steps: int
    """Steps of the whole trace."""
    before: str
    """The step as it was."""
    after: str
    """As it is now."""


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """A row of each kind for every right answer that was given without such a beginning."""
    for trajectory in trajectories:
        for answer in answers_of(trajectory):
            where = f"{trajectory.episode} trial {answer.attempt.trial}" if isinstance(answer, Answer) else ""
            if isinstance(answer, Rejected):
                yield answer
            elif not answer.reward:
                yield Rejected("failed", where)
            elif answer.begun:
                yield Rejected("begun_already", where)
            else:
                yield from _rows_of(answer, where, options)


def _rows_of(answer: Answer, where: str, options: Options) -> Iterator[Row | Rejected]:
    trace = _thinking_of(answer)
    if not trace.strip():
        yield Rejected("no_thinking", where)
        return
    for kind in KINDS:
        try:
            flawed = inject_error(trace, kind)
        except ConfigError:
            yield Rejected(f"nothing_to_alter_{kind}", where)
            continue
        prefill = flawed.text[: flawed.end]
        parts = (*answer.prompt_parts, written_by(Author.MODEL, "prefill", prefill, "prefill"))
        yield FlawedRow(
            provenance=provenance_of([answer.source], parts, options, turns=[answer.turn]),
            prompt=answer.prompt,
            prefill=prefill,
            kind=kind,
            step=flawed.step,
            steps=len(step_offsets(trace)),
            before=flawed.before,
            after=flawed.after,
        )


def _thinking_of(answer: Answer) -> str:
    """What was thought, without its end mark; else the words before the first fence. A program alone is no thinking."""
    if answer.turn.reasoning:
        return _THOUGHT_ENDS.sub("", answer.turn.reasoning)
    text = answer.turn.text
    files = (c for c in answer.attempt.changes if PurePath(c.path).suffix not in PROSE)
    return "" if any((c.content or "").strip() in (text.strip(), "") for c in files) else text.partition("```")[0]


@dataclass(frozen=True)
class Robustness:
    """How often a model is right, left alone and begun wrongly.

    Args:
        tasks: that were answered both ways; the others have no part in it.
        clean: mean of the tasks' shares of right answers, left alone, 0 to 1.
        prefilled: the same of answers that were begun for the model.
        left_out: tasks that were answered one way alone.
    """

    tasks: int
    clean: float
    prefilled: float
    left_out: int

    @property
    def lost(self) -> float:
        """What the beginnings cost."""
        return self.clean - self.prefilled


def robustness(trajectories: Iterable[Trajectory]) -> Robustness:
    """Accuracy with and without beginnings, over runs of both kinds, by executed checks alone.

    Raises:
        ConfigError: no task was answered both ways.
    """
    told: dict[str, tuple[list[float], list[float]]] = {}
    for trajectory in trajectories:
        for answer in answers_of(trajectory):
            if isinstance(answer, Answer):
                told.setdefault(trajectory.task, ([], []))[bool(answer.begun)].append(answer.reward)
    both = [(clean, begun) for clean, begun in told.values() if clean and begun]
    if not both:
        raise ConfigError("No task was answered both ways.", do="Give runs with and without begun answers.")
    clean, begun = (sum(sum(one[way]) / len(one[way]) for one in both) / len(both) for way in (0, 1))
    return Robustness(len(both), clean, begun, len(told) - len(both))


FORM = Form(
    name="flawed_thinking",
    row=FlawedRow,
    make=rows,
    about="Right answers begun with one planted error, to be recovered from by RL (arXiv 2512.17079).",
)
