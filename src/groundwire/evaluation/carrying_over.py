"""What memory wrote and gave, and how many trials a task takes after k episodes of its family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from groundwire.core.signals import Origin
from groundwire.evaluation.comparing import paired_interval
from groundwire.evaluation.episodes import Episodes
from groundwire.evaluation.rates import Rate
from groundwire.evaluation.rows import NONE, ORIGINS, PASS, Ints
from groundwire.evaluation.trials import Trials

__all__ = ["AFTER", "CarriedOver", "MemoryEffect", "carried_over", "earlier_of", "memory_effect"]

# Memory across tasks: how many trials a task takes that was never seen, after k episodes of its family.

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


# What memory wrote and gave, and how trials with lessons fared beside those without.

MAX_VISITS = 10
"""Visits of a task told apart."""


@dataclass(frozen=True)
class MemoryEffect:
    """Memory, over trials after what was given.

    Args:
        written: reflections written.
        read: lessons given to trials.
        hits: trials that were given at least one.
        with_lessons: first tries with lessons that are right.
        without_lessons: first tries without any that are right. The two were not drawn by lot: tasks that come back
            have lessons and are known to be hard, so the difference alone proves nothing.
        by_visit: first tries that are right, by how often the task had come before (0 first).
        interventions: by visit, refinements that a person's word opened, per episode.
    """

    written: int
    read: int
    hits: Rate
    with_lessons: Rate
    without_lessons: Rate
    by_visit: Sequence[Rate]
    interventions: Sequence[float]


def memory_effect(trials: Trials) -> MemoryEffect:
    """Reflections and lessons (arXiv 2303.11366), and interventions per task over time (arXiv 2311.10678)."""
    episodes = Episodes.of(trials)
    tries = ~trials.is_given
    counted = np.flatnonzero(episodes.counted & (episodes.truth(episodes.first) != NONE))
    rows = episodes.first[counted]
    given, right = trials.lessons[rows] > 0, trials.truth[rows] == PASS
    visit = np.minimum(earlier_of(episodes.task), MAX_VISITS - 1)
    by_person = (trials.trigger == ORIGINS.index(Origin.HUMAN)) & tries
    per_episode = episodes.total(by_person.astype(np.int64))
    visits = int(visit.max()) + 1 if len(visit) else 0
    return MemoryEffect(
        written=int(trials.reflections.sum()),
        read=int(trials.lessons[tries].sum()),
        hits=Rate(int((trials.lessons[tries] > 0).sum()), int(tries.sum())),
        with_lessons=Rate(int(right[given].sum()), int(given.sum())),
        without_lessons=Rate(int(right[~given].sum()), int((~given).sum())),
        by_visit=[Rate(int(right[visit[counted] == v].sum()), int((visit[counted] == v).sum())) for v in range(visits)],
        interventions=[float(per_episode[visit == v].mean()) for v in range(visits)],
    )
