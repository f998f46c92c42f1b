"""What trying again changed: fixes, breaks, false passes, and whether right answers are kept and wrong ones fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from groundwire.evaluation.columns import Floats, Ints, share
from groundwire.evaluation.episodes import Episodes
from groundwire.evaluation.rows import FAIL, NONE, PASS, origin_name
from groundwire.evaluation.trials import Trials

__all__ = ["SELF", "Correction", "Decomposition", "Flips", "correction", "decompose", "flips", "rss"]

SELF = "self"
"""No signal from outside the model stood behind the change."""


@dataclass(frozen=True)
class Decomposition:
    """Confidence against critique (arXiv 2412.19513): what correction keeps, and what it fixes.

    Args:
        acc1: accuracy before, mean of p_i over items.
        acc2: accuracy after; Acc1·CL + (1 − Acc1)·CS.
        cl: confidence level, Σ p_i·b_i / Σ p_i: right answers that stay right. None where none was right.
        cs: critique score, Σ (1 − p_i)·c_i / Σ (1 − p_i): wrong answers that become right. None where none was wrong.
        rss: relative self-correction score, (Acc2 − Acc1²) / (2·Acc1·(1 − Acc1)). None where Acc1 is 0 or 1.
    """

    acc1: float | None
    acc2: float | None
    cl: float | None
    cs: float | None
    rss: float | None


def rss(acc1: float, acc2: float) -> float | None:
    """(Acc2 − Acc1²) / (2·Acc1·(1 − Acc1)); None where Acc1 is 0 or 1 (arXiv 2412.19513)."""
    return share(acc2 - acc1 * acc1, 2 * acc1 * (1 - acc1)) if 0 < acc1 < 1 else None


def decompose(p: Floats, kept: Floats, fixed: Floats) -> Decomposition:
    """From rates by item (arXiv 2412.19513).

    Args:
        p: P(first right).
        kept: P(first right and second right) = p·b.
        fixed: P(first wrong and second right) = (1 − p)·c.
    """
    if not len(p):
        return Decomposition(None, None, None, None, None)
    acc1, acc2 = float(p.mean()), float((kept + fixed).mean())
    cl, cs = share(float(kept.sum()), float(p.sum())), share(float(fixed.sum()), float((1 - p).sum()))
    return Decomposition(acc1, acc2, cl, cs, rss(acc1, acc2))


@dataclass(frozen=True)
class Flips:
    """Changes of one kind between a trial and the next, both of which somebody judged.

    Args:
        fixed: wrong → right.
        broken: right → wrong.
        of: changes looked at.
    """

    fixed: int
    broken: int
    of: int


@dataclass(frozen=True)
class Correction:
    """What trying again came to, from the first try to the answer.

    Args:
        episodes: episodes whose first try and answer are both known to be right or wrong.
        fixes: wrong at first, right at the end.
        breaks: right at first, wrong at the end.
        false_passes: answers that passed what steers and failed the hidden tests.
        claimed: answers that passed what steers and that hidden tests judged.
        judged: answers that hidden tests judged.
        scores: see `Decomposition`; an item is a task, and its episodes are the samples.
        by_round: flips into round 2, 3, …
        by_origin: flips by the origin of the signal that opened the gate; `self` where none did.
    """

    episodes: int
    fixes: int
    breaks: int
    false_passes: int
    claimed: int
    judged: int
    scores: Decomposition
    by_round: Mapping[int, Flips]
    by_origin: Mapping[str, Flips]


def correction(trials: Trials) -> Correction:
    """Fixes, breaks and false passes from first try to answer (arXiv 2303.11366, 2412.19513)."""
    episodes = Episodes.of(trials)
    first, final = episodes.truth(episodes.first), episodes.truth(episodes.last)
    known = episodes.counted & (first != NONE) & (final != NONE)
    last = episodes.last[episodes.tried]
    claimed = (trials.visible[last] == PASS) & (trials.hidden[last] != NONE)
    by_round, by_origin = flips(trials)
    return Correction(
        episodes=int(known.sum()),
        fixes=int((known & (first == FAIL) & (final == PASS)).sum()),
        breaks=int((known & (first == PASS) & (final == FAIL)).sum()),
        false_passes=int((claimed & (trials.hidden[last] == FAIL)).sum()),
        claimed=int(claimed.sum()),
        judged=int((trials.hidden[last] != NONE).sum()),
        scores=_by_task(episodes.task[known], first[known] == PASS, final[known] == PASS),
        by_round=by_round,
        by_origin=by_origin,
    )


def _by_task(task: Ints, first: Ints, final: Ints) -> Decomposition:
    size = int(task.max()) + 1 if len(task) else 0
    samples = np.bincount(task, minlength=size)
    there = samples > 0

    def rate(of: Ints) -> Floats:
        return np.bincount(task, weights=of, minlength=size)[there] / samples[there]

    return decompose(rate(first), rate(first & final), rate(~first & final))


def flips(trials: Trials) -> tuple[Mapping[int, Flips], Mapping[str, Flips]]:
    """Changes between a trial and the next, by round and by what caused them (arXiv 2511.09381).

    Only trials after what was given (trial 0), and only where both candidates are known to be right or wrong.
    """
    if len(trials) < 2:
        return {}, {}
    before, after = trials.truth[:-1], trials.truth[1:]
    pair = (trials.number[1:] == trials.number[:-1]) & ~trials.is_given[:-1] & (before != NONE) & (after != NONE)
    fixed, broken = pair & (before == FAIL) & (after == PASS), pair & (before == PASS) & (after == FAIL)
    return (
        {number: Flips(*counts) for number, *counts in _counted(trials.trial[1:], fixed, broken, pair)},
        {
            origin_name(code) if code >= 0 else SELF: Flips(*counts)
            for code, *counts in _counted(trials.trigger[1:], fixed, broken, pair)
        },
    )


def _counted(by: Ints, *which: Ints) -> Sequence[Sequence[int]]:
    """By value, how many rows of each kind there are; values without a row of the last kind are left out."""
    low = int(by.min())
    counts = [np.bincount(by[rows] - low, minlength=int(by.max()) - low + 1) for rows in which]
    return [[int(value) + low, *(int(c[value]) for c in counts)] for value in np.flatnonzero(counts[-1])]
