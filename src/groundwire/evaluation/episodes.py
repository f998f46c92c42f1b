"""Episodes out of trials: what each began with, its first try, and the answer that it ended with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from groundwire.evaluation.rows import NONE, PASS, Bools, Ints
from groundwire.evaluation.trials import Trials

__all__ = ["Episodes"]


@dataclass(frozen=True)
class Episodes:
    """One number an episode; −1 stands for a row that there is not.

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
