"""Memory across tasks: how many trials a task takes that was never seen, after k episodes of its family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from groundwire.evaluation.columns import Ints
from groundwire.evaluation.comparing import paired_interval
from groundwire.evaluation.episodes import Episodes
from groundwire.evaluation.rates import Rate
from groundwire.evaluation.rows import PASS
from groundwire.evaluation.trials import Trials

__all__ = ["AFTER", "CarriedOver", "carried_over", "earlier_of"]

AFTER = (0, 1, 3, 10, 30, 100, 300, 1000)
"""Episodes of a family, as bounds of what is put together."""


@dataclass(frozen=True)
class CarriedOver:
    """Tasks seen for the first time, by how many episodes of their family had come before.

    Args:
        after: the least of these episodes.
        until: the most of them; None: no bound.
        solved: of the tasks, those that were solved.
        mean: trials to success; a task that was not solved counts as one trial more than it could have had, so that
            this is no less than what is claimed.
        low: lower end of the mean's 95 % interval (bootstrap).
        high: upper end.
    """

    after: int
    until: int | None
    solved: Rate
    mean: float
    low: float
    high: float


def carried_over(trials: Trials, most: int, *, after: Sequence[int] = AFTER) -> Sequence[CarriedOver]:
    """Trials to success on unseen tasks, after more and more episodes of their families.

    Where memory carries over, it falls; the order is that of the episodes, and tasks must be no easier later on, which
    a control on the same tasks shows.

    Args:
        trials: of one arm, episodes in the order in which they were played.
        most: trials that one episode may have.
        after: ascending bounds; those without a task are left out.
    """
    episodes = Episodes.of(trials)
    taken = np.full(len(trials.starts), most + 1, dtype=np.int64)
    won = (trials.truth == PASS) & ~trials.is_given
    np.minimum.at(taken, trials.number[won], trials.trial[won])
    before = earlier_of(trials.family.codes[trials.starts])
    unseen = episodes.counted & (earlier_of(episodes.task) == 0)
    found: list[CarriedOver] = []
    for least, bound in zip(after, [*after[1:], None], strict=True):
        part = taken[unseen & (before >= least) & (before < (bound if bound is not None else np.inf))]
        low, high = paired_interval(part.astype(np.float64))
        if low is not None and high is not None:
            solved = Rate(int((part <= most).sum()), len(part))
            until = bound - 1 if bound is not None else None
            found.append(CarriedOver(least, until, solved, float(part.mean()), low, high))
    return found


def earlier_of(codes: Ints) -> Ints:
    """By row, how often its code had come before."""
    order = np.argsort(codes, kind="stable")
    begins = np.concatenate([[True], codes[order][1:] != codes[order][:-1]]) if len(codes) else np.zeros(0, dtype=bool)
    at = np.arange(len(codes))
    seen = np.empty(len(codes), dtype=np.int64)
    seen[order] = at - np.maximum.accumulate(np.where(begins, at, 0))
    return seen
