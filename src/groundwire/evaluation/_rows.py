"""Trials as rows, columns of equal length, and what is asked of them again and again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from groundwire.core._signals import Origin, Verdict

# One trial as a row, and the numbers that stand for verdicts and origins in columns.

PASS, FAIL, NONE = 1, 0, -1
"""Verdicts as numbers."""
ORIGINS: tuple[Origin, ...] = tuple(Origin)
"""An origin's code is its place here; −1: there was none."""

CODES = {Verdict.PASS: PASS, Verdict.FAIL: FAIL, Verdict.NONE: NONE}
VERDICTS = {code: verdict for verdict, code in CODES.items()}


@dataclass(frozen=True)
class JudgedSample:
    """One of the candidates that a trial judged.

    Args:
        answer: what makes two of them the same: a digest, or a normalised answer.
        verdict: whether it is right.
        weight: its weight in a weighted vote.
    """

    answer: str
    verdict: Verdict
    weight: float = 1.0


@dataclass(frozen=True)
class TrialStep:
    """One step of a trial that something outside the model answered: a tool call, an action in an environment.

    Args:
        action: what makes two of them the same.
        ok: False if it failed.
    """

    action: str
    ok: bool


@dataclass(frozen=True, kw_only=True)
class TrialRow:
    """One trial: an attempt and its judging.

    Args:
        run: the run's id.
        episode: the episode's id; unique over all runs.
        task: the task's id.
        family: the task's family.
        seed: the episode's seed; arms are paired on task and seed.
        trial: counted from 1; 0 is the judging of what was there before.
        candidate: digest of the candidate that stands for the trial: one that passed, else the last one judged.
        visible: what steers said: the visible tests, the environment, tests that a model wrote.
        hidden: what the hidden tests said, or the answer key of a benchmark; NONE where nobody asked.
        origin: of the visible verdict.
        trigger: of the signal that opened the gate to this trial; None for a first draft.
        signature: how it failed (`groundwire.core._signatures`); empty where it did not.
        detail: what failed or why there is no verdict, in one line; hostile text.
        model: who proposed; empty where no model did.
        wording: the answer's first words, without what the model says of itself; empty where no model answered.
        self_report: how sure the model said that it is, 0 to 1; None where it did not. For people: it steers nothing.
        hint: why code would do the task better (`CodeHint`), by a space between; empty where nothing says so.
        tokens: prompt and completion tokens of its model calls.
        critical_tokens: of these, those that were waited for: calls made at the same time count once, by the longest.
        usd: US dollars; None where a price is not known.
        seconds: wall seconds.
        calls: model calls.
        judgings: times a candidate was judged by something outside the model.
        lessons: lessons that memory gave it.
        reflections: reflections written after it.
        escalation: 0, or how often the loop had been found stuck.
        oracle: True if a signal used the answer key.
        has_hidden: True if the task has hidden tests, whether they were asked or not.
        stop: the episode's stop reason; empty where it has not ended.
        isolation: how far the assertions that had the last word were from the candidate; empty where nothing was run.
        samples: all candidates that it judged, in order; empty: only the one.
        steps: its steps, in order.
    """

    run: str = ""
    episode: str
    task: str
    family: str = ""
    seed: int = 0
    trial: int = 1
    candidate: str = ""
    visible: Verdict = Verdict.NONE
    hidden: Verdict = Verdict.NONE
    origin: Origin | None = None
    trigger: Origin | None = None
    signature: str = ""
    detail: str = ""
    model: str = ""
    wording: str = ""
    self_report: float | None = None
    hint: str = ""
    tokens: int = 0
    critical_tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0
    calls: int = 0
    judgings: int = 0
    lessons: int = 0
    reflections: int = 0
    escalation: int = 0
    oracle: bool = False
    has_hidden: bool = False
    stop: str = ""
    isolation: str = ""
    samples: tuple[JudgedSample, ...] = ()
    steps: tuple[TrialStep, ...] = ()


def origin_name(code: Any) -> str:
    """The name of the origin with this code."""
    return str(ORIGINS[int(code)])


# Columns of equal length, and what is asked of them again and again: the names behind codes, and groups of rows.

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of texts, most of them repeated.

    Args:
        codes: by row, the index of its text in `names`.
        names: the distinct texts.
    """

    codes: Ints
    names: Sequence[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """From one text a row; names keep the order in which they first come."""
        index: dict[str, int] = {}
        codes = np.fromiter((index.setdefault(text, len(index)) for text in texts), dtype=np.int32)
        return cls(codes, tuple(index))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str:
        return self.names[int(self.codes[row])]

    @property
    def is_named(self) -> Bools:
        """By row, True where its text is not empty."""
        return self.codes != (self.names.index("") if "" in self.names else -1)

    def take(self, rows: Ints | Bools) -> Self:
        """These rows, with the same names."""
        return type(self)(self.codes[rows], self.names)


@dataclass(frozen=True, eq=False)
class Ragged:
    """A list for each row, stored end to end.

    Args:
        starts: by row, where its list begins in the flat columns; one more number than rows, the last is the end.
    """

    starts: Ints

    @classmethod
    def of(cls, lengths: Iterable[int]) -> Self:
        """From the length of each row's list."""
        counted = np.fromiter(lengths, dtype=np.int64)
        return cls(np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counted)]))

    @property
    def lengths(self) -> Ints:
        """By row, how long its list is."""
        return np.diff(self.starts)

    @property
    def rows(self) -> Ints:
        """By flat element, the row that it belongs to."""
        return np.repeat(np.arange(len(self.starts) - 1), self.lengths)

    def take(self, rows: Ints) -> tuple[Self, Ints]:
        """These rows' lists, and the flat elements that they are made of."""
        lengths = self.lengths[rows]
        taken = type(self).of(lengths)
        moved = np.repeat(self.starts[:-1][rows] - taken.starts[:-1], lengths)
        return taken, moved + np.arange(len(moved))


def mean_of(values: Floats | Ints | Bools) -> float | None:
    """The mean; None of nothing."""
    return float(values.mean()) if len(values) else None


def share(part: float, whole: float) -> float | None:
    """`part / whole`; None where there is no whole."""
    return float(part / whole) if whole else None
