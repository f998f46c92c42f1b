"""What memory wrote and gave, and how trials with lessons fared beside those without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from groundwire.evaluation.carrying_over import earlier_of
from groundwire.evaluation.episodes import Episodes
from groundwire.evaluation.rates import Rate
from groundwire.evaluation.rows import NONE, ORIGINS, PASS
from groundwire.evaluation.trials import Trials
from groundwire.signals import Origin

__all__ = ["MemoryEffect", "memory_effect"]

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
