"""Trials as columns, and the episodes that they make: what every metric reads, from our ledger or a published log."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from operator import attrgetter
from typing import Any, Self

import numpy as np

from groundwire.core._signals import Origin, Verdict
from groundwire.evaluation._rows import (
    CODES,
    NONE,
    ORIGINS,
    PASS,
    VERDICTS,
    Bools,
    Floats,
    Ints,
    JudgedSample,
    Labels,
    Ragged,
    TrialRow,
    TrialStep,
)

_TEXTS = (
    "run", "episode", "task", "family", "candidate", "signature", "detail", "model", "wording", "hint", "stop",
    "isolation",
)  # fmt: skip
_COUNTS = (
    "seed", "trial", "tokens", "critical_tokens", "calls", "judgings", "lessons", "reflections", "escalation"
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class Trials:
    """Many trials, a column a field of `TrialRow`, in the order of episode and trial.

    Verdicts are numbers (`PASS`, `FAIL`, `NONE`), origins their places in `ORIGINS`, an unknown price is NaN. Episodes
    are numbered from 0 in the order of their rows. Build it with `of` or `from_columns`, which put the rows in order.
    """

    run: Labels
    episode: Labels
    task: Labels
    family: Labels
    seed: Ints
    trial: Ints
    candidate: Labels
    visible: Ints
    hidden: Ints
    origin: Ints
    trigger: Ints
    signature: Labels
    detail: Labels
    model: Labels
    wording: Labels
    self_report: Floats
    hint: Labels
    tokens: Ints
    critical_tokens: Ints
    usd: Floats
    seconds: Floats
    calls: Ints
    judgings: Ints
    lessons: Ints
    reflections: Ints
    escalation: Ints
    oracle: Bools
    has_hidden: Bools
    stop: Labels
    isolation: Labels
    sampled: Ragged
    sample_answer: Labels
    sample_verdict: Ints
    sample_weight: Floats
    stepped: Ragged
    step_action: Labels
    step_ok: Bools

    @classmethod
    def of(cls, rows: Iterable[TrialRow]) -> Self:
        """From rows, in any order."""
        columns = TrialColumns()
        for row in rows:
            columns.add(row)
        return cls.from_columns(**columns.told())

    @classmethod
    def from_columns(cls, **columns: Labels | Ints | Floats | Bools | Ragged) -> Self:
        """From columns, in any order of rows; those that are left out hold a row's default.

        Raises:
            ValueError: `episode` or `task` is missing, or a column is of another length.
        """
        if not {"episode", "task"} <= columns.keys():
            raise ValueError("the columns episode and task are needed")
        count = len(columns["episode"])  # pyright: ignore[reportArgumentType]  always Labels
        full: dict[str, Any] = {**_defaults(count), **columns}
        for name, column in full.items():
            length = len(column.starts) - 1 if isinstance(column, Ragged) else len(column)
            if length != count and not name.startswith(("sample_", "step_")):
                raise ValueError(f"the column {name} has {length} rows, not {count}")
        return cls(**full)._in_order()

    def __len__(self) -> int:
        return len(self.trial)

    def rows(self) -> Iterator[TrialRow]:
        """The same as rows."""
        for at in range(len(self)):
            yield self.row(at)

    def row(self, at: int) -> TrialRow:
        """One row."""
        values: dict[str, Any] = {name: getattr(self, name)[at] for name in _TEXTS}
        values |= {name: int(getattr(self, name)[at]) for name in _COUNTS}
        usd, report = float(self.usd[at]), float(self.self_report[at])
        samples = range(self.sampled.starts[at], self.sampled.starts[at + 1])
        steps = range(self.stepped.starts[at], self.stepped.starts[at + 1])
        return TrialRow(
            **values,
            visible=VERDICTS[int(self.visible[at])],
            hidden=VERDICTS[int(self.hidden[at])],
            origin=_named(self.origin[at]),
            trigger=_named(self.trigger[at]),
            usd=None if math.isnan(usd) else usd,
            self_report=None if math.isnan(report) else report,
            seconds=float(self.seconds[at]),
            oracle=bool(self.oracle[at]),
            has_hidden=bool(self.has_hidden[at]),
            samples=tuple(
                JudgedSample(self.sample_answer[i], VERDICTS[int(self.sample_verdict[i])], float(self.sample_weight[i]))
                for i in samples
            ),
            steps=tuple(TrialStep(self.step_action[i], bool(self.step_ok[i])) for i in steps),
        )

    def take(self, rows: Ints | Bools) -> Self:
        """These rows only."""
        at: Ints = np.arange(len(self))[rows]
        sampled, samples = self.sampled.take(at)
        stepped, steps = self.stepped.take(at)
        chosen: dict[str, Any] = {"sampled": sampled, "stepped": stepped}
        for field in fields(self):
            column = getattr(self, field.name)
            if field.name in chosen:
                continue
            which = samples if field.name.startswith("sample_") else steps if field.name.startswith("step_") else at
            chosen[field.name] = column.take(which) if isinstance(column, Labels) else column[which]
        return type(self)(**chosen)

    def _in_order(self) -> Self:
        order = np.lexsort((self.trial, self.episode.codes))
        return self if np.array_equal(order, np.arange(len(order))) else self.take(order)

    @cached_property
    def starts(self) -> Ints:
        """By episode, its first row."""
        codes = self.episode.codes
        return np.flatnonzero(np.concatenate([np.ones(min(len(codes), 1), dtype=np.bool_), codes[1:] != codes[:-1]]))

    @cached_property
    def ends(self) -> Ints:
        """By episode, its last row."""
        return np.concatenate([self.starts[1:], [len(self)]])[: len(self.starts)].astype(np.int64) - 1

    @cached_property
    def number(self) -> Ints:
        """By row, its episode's number."""
        return np.repeat(np.arange(len(self.starts)), self.ends - self.starts + 1)

    @cached_property
    def truth(self) -> Ints:
        """By row, whether the candidate is right, as far as is known.

        What the hidden tests said. Where the task has none, the visible verdict. Where it has some that did not judge
        the candidate, a visible FAIL is believed, since it refutes, and a visible PASS is not: it is NONE. Tests that a
        model wrote, other models and people know no truth: without hidden tests it is NONE.
        """
        unknown = np.isin(self.origin, _NO_TRUTH) | (self.has_hidden & (self.visible == PASS))
        believed = np.where(unknown, NONE, self.visible)
        return np.where(self.hidden != NONE, self.hidden, believed).astype(np.int8)

    @cached_property
    def answer(self) -> Ints:
        """By row, the row whose candidate was the episode's answer then: a trial that brought nothing to judge (the
        actor had nothing new, the model broke) leaves the answer as it was."""
        at = np.arange(len(self))
        nothing = (self.visible == NONE) & (self.hidden == NONE) & (self.judgings == 0)
        held = np.maximum.accumulate(np.where(nothing, -1, at)) if len(self) else at
        return np.where(held >= self.starts[self.number], held, at)

    @cached_property
    def is_given(self) -> Bools:
        """By row, True for the judging of what was there before (trial 0)."""
        return self.trial <= 0


_KNOW_NOTHING = (Origin.MODEL_TESTS, Origin.OTHER_MODEL, Origin.HUMAN, Origin.RULE)
_NO_TRUTH = [ORIGINS.index(origin) for origin in _KNOW_NOTHING]


def _is_known(row: TrialRow) -> bool:
    """True if it is known whether the candidate is right; see `Trials.truth`."""
    if row.hidden is not Verdict.NONE:
        return True
    is_unsaid = row.visible is Verdict.NONE or row.origin in _KNOW_NOTHING
    return not is_unsaid and not (row.has_hidden and row.visible is Verdict.PASS)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _origin(origin: Origin | None) -> int:
    return -1 if origin is None else ORIGINS.index(origin)


def _named(code: Any) -> Origin | None:
    return None if code < 0 else ORIGINS[int(code)]


def _defaults(count: int) -> dict[str, Any]:
    nothing: Sequence[int] = ()
    empty = Labels(np.zeros(count, dtype=np.int32), ("",))
    none = np.full(count, NONE, dtype=np.int8)
    zeros = np.zeros(count, dtype=np.int64)
    no_lists = Ragged(np.zeros(count + 1, dtype=np.int64))
    return {
        **dict.fromkeys(_TEXTS, empty),
        **dict.fromkeys(_COUNTS, zeros),
        **dict.fromkeys(("visible", "hidden", "origin", "trigger"), none),
        "trial": np.ones(count, dtype=np.int64),
        "usd": np.zeros(count),
        "seconds": np.zeros(count),
        "self_report": np.full(count, math.nan),
        "oracle": np.zeros(count, dtype=np.bool_),
        "has_hidden": np.zeros(count, dtype=np.bool_),
        "sampled": no_lists,
        "sample_answer": Labels(np.array(nothing, dtype=np.int32), ()),
        "sample_verdict": np.array(nothing, dtype=np.int8),
        "sample_weight": np.array(nothing, dtype=np.float64),
        "stepped": no_lists,
        "step_action": Labels(np.array(nothing, dtype=np.int32), ()),
        "step_ok": np.array(nothing, dtype=np.bool_),
    }


# Rows as they are read one by one: what they repeat is kept once.


class _Names:
    """A column of texts that grows."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._codes = array("i")

    def add(self, text: str) -> None:
        """One more row."""
        self._codes.append(self._index.setdefault(text, len(self._index)))

    def told(self) -> Labels:
        """The column, which this lets go of."""
        names, codes = tuple(self._index), np.array(self._codes, dtype=np.int32)
        self._index.clear()
        return Labels(codes, names)


_KINDS = {"b": np.int8, "q": np.int64, "d": np.float64}
"""By the letter of an array's kind."""
_NUMBERS: Mapping[str, tuple[str, Callable[[TrialRow], float]]] = {
    **{name: ("q", attrgetter(name)) for name in _COUNTS},
    "visible": ("b", lambda row: CODES[row.visible]),
    "hidden": ("b", lambda row: CODES[row.hidden]),
    "origin": ("b", lambda row: _origin(row.origin)),
    "trigger": ("b", lambda row: _origin(row.trigger)),
    "usd": ("d", lambda row: _number(row.usd)),
    "self_report": ("d", lambda row: _number(row.self_report)),
    "seconds": ("d", lambda row: row.seconds),
    "oracle": ("b", lambda row: row.oracle),
    "has_hidden": ("b", lambda row: row.has_hidden),
}
"""Columns of numbers: the kind of their array, and a row's."""
_FLAGS = ("oracle", "has_hidden")


class TrialColumns:
    """Trials as columns that grow by one row at a time, however many there are.

    Args:
        worded: of so many trials, the latest whose candidate is known to be right or wrong, the wording is kept; None:
            of all.
    """

    def __init__(self, *, worded: int | None = None) -> None:
        self._texts = {name: _Names() for name in _TEXTS if name != "wording"}
        self._numbers: dict[str, array[Any]] = {name: array(kind) for name, (kind, _) in _NUMBERS.items()}
        self._wording: dict[int, str] = {}
        self._worded = worded
        self._samples = (array("q"), _Names(), array("b"), array("d"))
        self._steps = (array("q"), _Names(), array("b"))
        self._count = 0

    def add(self, row: TrialRow) -> None:
        """One more trial."""
        for name, names in self._texts.items():
            names.add(getattr(row, name))
        for name, (_, number) in _NUMBERS.items():
            self._numbers[name].append(number(row))
        lengths, answers, verdicts, weights = self._samples
        lengths.append(len(row.samples))
        for sample in row.samples:
            answers.add(sample.answer)
            verdicts.append(CODES[sample.verdict])
            weights.append(sample.weight)
        lengths, actions, oks = self._steps
        lengths.append(len(row.steps))
        for step in row.steps:
            actions.add(step.action)
            oks.append(step.ok)
        self._keep_wording(row)
        self._count += 1

    def _keep_wording(self, row: TrialRow) -> None:
        if row.wording and (self._worded is None or (row.trial > 0 and _is_known(row))):
            self._wording[self._count] = row.wording
            if self._worded is not None and len(self._wording) > self._worded:
                del self._wording[next(iter(self._wording))]

    def told(self) -> dict[str, Any]:
        """The columns, as `Trials` takes them; nothing can be added any more."""
        wording = _Names()
        for at in range(self._count):
            wording.add(self._wording.get(at, ""))
        (sampled, answers, verdicts, weights), (stepped, actions, oks) = self._samples, self._steps
        numbers = {name: np.array(self._numbers.pop(name), dtype=_KINDS[kind]) for name, (kind, _) in _NUMBERS.items()}
        return {
            **{name: names.told() for name, names in self._texts.items()},
            **numbers,
            **{name: numbers[name].astype(np.bool_) for name in _FLAGS},
            "wording": wording.told(),
            "sampled": Ragged.of(sampled),
            "sample_answer": answers.told(),
            "sample_verdict": np.array(verdicts, dtype=np.int8),
            "sample_weight": np.array(weights, dtype=np.float64),
            "stepped": Ragged.of(stepped),
            "step_action": actions.told(),
            "step_ok": np.array(oks, dtype=np.bool_),
        }


# Episodes out of trials: what each began with, its first try, and the answer that it ended with.


@dataclass(frozen=True)
class Episodes:
    """One number for each episode; −1 where there is no such row.

    Args:
        trials: their trials.
        first: row of the first try: the first trial after what was given (trial 0).
        last: row of the last try that brought something to judge: its candidate is the episode's answer. Where none
            did, the last try.
        given: True where what was given passed already, so that nothing was tried.
    """

    trials: Trials
    first: Ints
    last: Ints
    given: Bools

    @classmethod
    def of(cls, trials: Trials) -> Episodes:
        """From trials."""
        tries = ~trials.is_given
        count = np.add.reduceat(tries, trials.starts, dtype=np.int64) if len(trials) else np.zeros(0, dtype=np.int64)
        held = trials.answer[trials.ends] if len(trials) else count
        held = np.where(trials.is_given[held], trials.ends, held) if len(trials) else held
        last = np.where(count > 0, held, -1)
        first = np.where(count > 0, trials.ends - count + 1, -1)
        given = (count == 0) & (trials.truth[trials.starts] == PASS)
        return cls(trials, first, last, given)

    @property
    def counted(self) -> Bools:
        """Those with something to solve; the others are told apart, and left out of every rate."""
        return ~self.given

    @property
    def tried(self) -> Bools:
        """Those with at least one try."""
        return self.last >= 0

    def truth(self, rows: Ints) -> Ints:
        """What is known of the candidates of these rows; NONE where there is no row."""
        known = self.trials.truth[np.maximum(rows, 0)] if len(self.trials) else np.zeros(0, dtype=np.int8)
        return np.where(rows >= 0, known, NONE)

    @property
    def first_right(self) -> Bools:
        """By episode, True where the first try is known to be right."""
        return self.truth(self.first) == PASS

    @property
    def final_right(self) -> Bools:
        """By episode, True where the answer is known to be right."""
        return self.truth(self.last) == PASS

    @property
    def task(self) -> Ints:
        """By episode, its task's code."""
        return self.trials.task.codes[self.trials.starts]

    def total(self, column: Ints) -> Ints:
        """By episode, the sum of a column of its trials."""
        return np.add.reduceat(column, self.trials.starts) if len(self.trials) else column[:0]
