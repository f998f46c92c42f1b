"""Whether an arm learns: success by trial, first tries by episode, trials to success on worlds that it never saw.

Episodes stand in the order of their seeds, which is the order in which they are played unless several are at a time.
An episode without a verdict counts as not won.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from groundwire.evaluation.carrying_over import CarriedOver, carried_over
from groundwire.evaluation.comparing import Answer, answer_by, compare, paired_interval, sign_test
from groundwire.evaluation.rates import Rate
from groundwire.evaluation.rows import PASS, Floats, Ints
from groundwire.evaluation.trials import Trials

__all__ = ["Difference", "Learning", "differences", "learning_of", "window_for"]

STRETCHES = 5
EPISODES_OF_A_STRETCH = 5
"""The least; fewer say nothing."""


@dataclass(frozen=True, kw_only=True)
class Learning:
    """How one arm fared.

    Args:
        episodes: how many.
        trials: the most that one may have.
        by_trial: episodes won by then, after 1, 2, … trials.
        first_tries: those won, of the last `window` episodes, after 1, 2, … episodes: the learning curve.
        window: see there.
        stretches: trials to success on unseen seeds, after more and more episodes, in the order of play.
        seeds: of the episodes.
        to_success: by episode, trials to success; `trials + 1` where it was not won.
    """

    episodes: int
    trials: int
    by_trial: Sequence[Rate]
    first_tries: Sequence[Rate]
    window: int
    stretches: Sequence[CarriedOver]
    seeds: Sequence[int]
    to_success: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One number with memory and without, paired by seed.

    Args:
        what: for people.
        pairs: seeds that both arms played (n).
        memory: with memory, a mean.
        control: without.
        difference: `memory − control`.
        low: lower end of its 95 % interval (paired bootstrap over seeds).
        high: upper end.
        better: seeds that went better with memory.
        worse: seeds that went worse.
        p: exact two-sided sign test on these.
        answer: whether memory helped: only if the interval leaves out 0 and the exact test agrees.
    """

    what: str
    pairs: int
    memory: float | None
    control: float | None
    difference: float | None
    low: float | None
    high: float | None
    better: int
    worse: int
    p: float
    answer: Answer


def window_for(episodes: int) -> int:
    """Episodes of a running mean: a tenth, and no fewer than five."""
    return max(5, episodes // 10)


def learning_of(trials: Trials, most: int, *, window: int | None = None) -> Learning:
    """Measures one arm.

    Args:
        trials: all of its trials.
        most: trials that one episode may have.
        window: episodes of the running mean; default: `window_for`.
    """
    seeds, taken = _to_success(trials, most)
    n = len(seeds)
    size = window or window_for(n)
    first = np.cumsum(np.concatenate([[0], taken == 1]))
    return Learning(
        episodes=n,
        trials=most,
        by_trial=[Rate(int((taken <= trial).sum()), n) for trial in range(1, most + 1)],
        first_tries=[Rate(int(first[at] - first[max(0, at - size)]), min(at, size)) for at in range(1, n + 1)],
        window=size,
        stretches=_stretches(trials, most),
        seeds=seeds.tolist(),
        to_success=taken.tolist(),
    )


def differences(memory: Trials, control: Trials, most: int) -> Sequence[Difference]:
    """What memory bought: episodes won, first tries won, trials to success.

    Args:
        memory: the arm with memory.
        control: the one without, on the same seeds.
        most: trials that one episode may have.
    """
    won = compare(memory, control)
    mine, theirs = (dict(zip(*map(np.ndarray.tolist, _to_success(t, most)), strict=True)) for t in (memory, control))
    both = sorted(mine.keys() & theirs.keys())
    ours = np.array([mine[seed] for seed in both], dtype=np.float64)
    others = np.array([theirs[seed] for seed in both], dtype=np.float64)
    return [
        Difference(
            what=f"won within {most} trials" if most > 1 else "won",
            pairs=won.tasks,
            memory=won.arm,
            control=won.control,
            difference=won.difference,
            low=won.low,
            high=won.high,
            better=won.better,
            worse=won.worse,
            p=won.p,
            answer=won.answer,
        ),
        *([_paired("first trials won", ours == 1, others == 1, up=True)] if most > 1 else []),
        *([_paired("trials to success", ours, others, up=False)] if most > 1 else []),
    ]


def _paired(what: str, ours: Floats, others: Floats, *, up: bool) -> Difference:
    ours, others = ours.astype(np.float64), others.astype(np.float64)
    gap = ours - others
    better, worse = int((gap > 0).sum()), int((gap < 0).sum())
    better, worse = (better, worse) if up else (worse, better)
    low, high = paired_interval(gap)
    p = sign_test(better, worse)
    return Difference(
        what=what,
        pairs=len(gap),
        memory=float(ours.mean()) if len(gap) else None,
        control=float(others.mean()) if len(gap) else None,
        difference=float(gap.mean()) if len(gap) else None,
        low=low,
        high=high,
        better=better,
        worse=worse,
        p=p,
        answer=answer_by(low, high, p, more_is_better=up),
    )


def _to_success(trials: Trials, most: int) -> tuple[Ints, Ints]:
    """By episode, in the order of the seeds: its seed, and the trial that won it."""
    n = len(trials.starts)
    taken = np.full(n, most + 1, dtype=np.int64)
    won = (trials.truth == PASS) & (trials.trial >= 1)
    np.minimum.at(taken, trials.number[won], trials.trial[won])
    seeds = trials.seed[trials.starts]
    order = np.argsort(seeds, kind="stable")
    return seeds[order], taken[order]


def _stretches(trials: Trials, most: int) -> Sequence[CarriedOver]:
    n = len(trials.starts)
    count = min(STRETCHES, n // EPISODES_OF_A_STRETCH)
    edges = [round(n * part / count) for part in range(count)]
    return carried_over(trials, most, after=edges) if count else ()
