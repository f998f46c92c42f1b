"""How often tasks are solved: at the first try, at the end, after each round, and out of k attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from groundwire.evaluation.columns import Ints, mean_of
from groundwire.evaluation.episodes import Episodes
from groundwire.evaluation.rates import Rate
from groundwire.evaluation.rows import NONE, PASS
from groundwire.evaluation.trials import Trials

__all__ = ["Attempts", "Outcome", "attempts", "outcome", "pass_at_k", "pass_hat_k", "success_by_round"]

MAX_ROUNDS = 50
"""Rounds told apart; later ones are in the last."""


@dataclass(frozen=True)
class Outcome:
    """How a run came out.

    Args:
        tasks: distinct tasks.
        episodes: episodes.
        already_passing: of these, those whose task was solved before anything was tried; no rate counts them.
        first_try: the first try is right.
        final: the answer is right.
        by_round: the answer after round 0 (what was given), 1, 2 … is right; an episode that has ended keeps its last.
        first_unknown: the first try was judged, but only by tests that a model wrote, or by an opinion: `first_try` and
            `by_round` count it as wrong, so they are lower bounds.
        unverified: the answer passed only tests that a model wrote, so nobody knows.
        no_verdict: nothing outside the model could judge the answer, or there is none.
        stops: episodes by stop reason.
    """

    tasks: int
    episodes: int
    already_passing: int
    first_try: Rate
    final: Rate
    by_round: Sequence[Rate]
    first_unknown: Rate
    unverified: Rate
    no_verdict: Rate
    stops: Mapping[str, int]


def outcome(trials: Trials) -> Outcome:
    """First-try and final success (arXiv 2303.11366, 2510.08308).

    An episode without a verdict counts as unsolved: what broke may have broken because of the candidate.
    """
    episodes = Episodes.of(trials)
    counted = episodes.counted
    n = int(counted.sum())
    last = np.maximum(episodes.last, 0)
    visible = np.where(episodes.tried, trials.visible[last], NONE) if len(trials) else np.zeros(0)
    unknown = episodes.truth(episodes.last) == NONE
    first = np.maximum(episodes.first, 0)
    unseen = episodes.tried & (episodes.truth(episodes.first) == NONE)
    unseen &= (trials.visible[first] != NONE) if len(trials) else unseen
    codes, counts = np.unique(trials.stop.codes[trials.starts], return_counts=True)
    return Outcome(
        tasks=len(np.unique(trials.task.codes)),
        episodes=len(trials.starts),
        already_passing=int(episodes.given.sum()),
        first_try=Rate(int((episodes.first_right & counted).sum()), n),
        final=Rate(int((episodes.final_right & counted).sum()), n),
        by_round=success_by_round(trials),
        first_unknown=Rate(int((counted & unseen).sum()), n),
        unverified=Rate(int((counted & unknown & (visible == PASS)).sum()), n),
        no_verdict=Rate(int((counted & unknown & (visible == NONE)).sum()), n),
        stops={trials.stop.names[int(code)] or "unfinished": int(c) for code, c in zip(codes, counts, strict=True)},
    )


def success_by_round(trials: Trials) -> Sequence[Rate]:
    """Share of episodes whose answer after each round is right, from round 0 on.

    It may fall: a round that replaces a right answer by a wrong one counts against it.
    """
    episodes = Episodes.of(trials)
    counted = np.flatnonzero(episodes.counted)
    if not len(counted):
        return ()
    rounds = min(int(trials.trial.max()), MAX_ROUNDS)
    width = int(trials.trial.max()) + 2
    key = trials.number * width + trials.trial + 1
    found: list[Rate] = []
    for number in range(rounds + 1):
        until = width if number == MAX_ROUNDS else number + 2
        rows = np.searchsorted(key, counted * width + until) - 1
        known = rows >= trials.starts[counted]
        right = (trials.truth[trials.answer[np.maximum(rows, 0)]] == PASS) & known
        found.append(Rate(int(right.sum()), len(counted)))
    return found


def pass_at_k(attempted: Ints, right: Ints, k: int) -> float | None:
    """Probability that at least one of k attempts is right, unbiased: mean of 1 − C(n−c, k)/C(n, k) over tasks.

    Args:
        attempted: attempts by task (n).
        right: of these, the right ones (c).
        k: attempts drawn.

    Returns:
        None where no task has k attempts; tasks with fewer are left out.

    Source: arXiv 2107.03374.
    """
    enough = attempted >= k
    return mean_of(1.0 - np.asarray(stats.hypergeom.pmf(0, attempted[enough], right[enough], k)))


def pass_hat_k(attempted: Ints, right: Ints, k: int) -> float | None:
    """Probability that all of k attempts are right, unbiased: mean of C(c, k)/C(n, k) over tasks.

    Args and Returns: as `pass_at_k`. Source: τ-bench, arXiv 2406.12045.
    """
    enough = attempted >= k
    return mean_of(np.asarray(stats.hypergeom.pmf(k, attempted[enough], right[enough], k)))


@dataclass(frozen=True)
class Attempts:
    """Success out of k episodes of the same task.

    Args:
        k: episodes drawn.
        at_least_one: pass@k.
        all_of_them: pass^k.
        tasks: tasks with at least k episodes.
    """

    k: int
    at_least_one: float | None
    all_of_them: float | None
    tasks: int


def attempts(trials: Trials, ks: Sequence[int] = (1, 2, 4, 8)) -> Sequence[Attempts]:
    """pass@k and pass^k over episodes of the same task, for those k that any task has."""
    episodes = Episodes.of(trials)
    counted = episodes.counted
    n = np.bincount(episodes.task[counted], minlength=len(trials.task.names))
    c = np.bincount(episodes.task[counted & episodes.final_right], minlength=len(trials.task.names))
    most = int(n.max()) if len(n) else 0
    return [Attempts(k, pass_at_k(n, c, k), pass_hat_k(n, c, k), int((n >= k).sum())) for k in ks if k <= most]
