"""Whether training made a model better: its share of right samples by round, paired by task, and when to stop.

A task is the unit: its samples are averaged, and intervals are over tasks. What gave no verdict is not right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from groundwire.evaluation._comparing import LEVEL, Conclusion, answer_by, paired_interval, sign_test
from groundwire.evaluation._drift import avalanche

DRAWS = 10_000
"""Of the bootstrap over tasks."""
COLLAPSED = 0.25
"""Share of the first round's diversity below which answers have become the same."""


@dataclass(frozen=True, kw_only=True)
class TaskShare:
    """One task in one round.

    Args:
        samples: that were drawn.
        right: of these.
    """

    samples: int
    right: int

    @property
    def share(self) -> float:
        """Of its samples, those that are right."""
        return self.right / self.samples if self.samples else 0.0


Shares = Mapping[str, TaskShare]
"""By task."""


@dataclass(frozen=True, kw_only=True)
class RoundFigures:
    """What a model came to on one set of tasks.

    Args:
        tasks: how many.
        samples: of all of them.
        right: share of right samples, mean over tasks.
        low: lower end of its 95 % interval (bootstrap over tasks); None of fewer than two tasks.
        high: upper end.
        any_right: tasks of which at least one sample is right.
        diversity: different programs among a task's samples, as a share, mean over tasks; None where none has two.
    """

    tasks: int
    samples: int
    right: float
    low: float | None
    high: float | None
    any_right: int
    diversity: float | None


@dataclass(frozen=True, kw_only=True)
class PairedGain:
    """A trained model beside the one that it began with, on the same tasks.

    Args:
        tasks: that both answered.
        before: share of right samples, mean over tasks.
        after: the same of the trained one.
        difference: `after − before`.
        low: lower end of its 95 % interval over tasks (`paired_interval`); None of fewer than two tasks.
        high: upper end.
        ratio: `after / before`; None where nothing was right before.
        ratio_low: lower end of its 95 % interval (bootstrap over tasks).
        ratio_high: upper end.
        better: tasks with a larger share.
        worse: tasks with a smaller one.
        p: exact two-sided sign test on these.
        learned: tasks of which no sample was right before, and some are now.
        unlearned: tasks of which some were right before, and none is now.
    """

    tasks: int
    before: float
    after: float
    difference: float
    low: float | None
    high: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    better: int
    worse: int
    p: float
    learned: Sequence[str]
    unlearned: Sequence[str]

    @property
    def answer(self) -> Conclusion:
        """Helped or hurt only if the interval leaves out 0 and the exact test agrees."""
        return answer_by(self.low, self.high, self.p)

    def sentence(self) -> str:
        """What a reader is told first."""
        points = f"{100 * self.before:.1f} → {100 * self.after:.1f} % right"
        if self.low is None or self.high is None:
            return f"{points} (n = {self.tasks}; no interval)"
        times = ""
        if self.ratio is not None and self.ratio_low is not None and self.ratio_high is not None:
            times = f", ×{self.ratio:.2f} ({self.ratio_low:.2f} to {self.ratio_high:.2f})"
        said = {
            Conclusion.HELPED: "training helped",
            Conclusion.HURT: "training hurt",
            Conclusion.CANT_TELL: "can't tell if training helped",
        }[self.answer]
        return (
            f"{said} (n = {self.tasks} tasks): {points}, {100 * self.difference:+.1f} points"
            f" (95 % {100 * self.low:+.1f} to {100 * self.high:+.1f}){times};"
            f" {self.better} tasks better, {self.worse} worse, p = {self.p:.2g}"
        )


def figures_of(shares: Shares, diversity: float | None) -> RoundFigures:
    """The figures of one model on one set.

    Args:
        shares: by task.
        diversity: see `RoundFigures`.
    """
    values = np.array([one.share for one in shares.values()], dtype=np.float64)
    low, high = _bootstrapped(values)
    return RoundFigures(
        tasks=len(values),
        samples=sum(one.samples for one in shares.values()),
        right=float(values.mean()) if len(values) else 0.0,
        low=low,
        high=high,
        any_right=sum(one.right > 0 for one in shares.values()),
        diversity=diversity,
    )


def gain_of(before: Shares, after: Shares) -> PairedGain:
    """What training bought, over the tasks that both answered.

    Args:
        before: of the model that it began with.
        after: of the trained one.
    """
    names = [name for name in before if name in after]
    was = np.array([before[name].share for name in names], dtype=np.float64)
    now = np.array([after[name].share for name in names], dtype=np.float64)
    gap = now - was
    low, high = paired_interval(gap)
    better, worse = int((gap > 0).sum()), int((gap < 0).sum())
    ratio_low, ratio_high = _ratio_interval(was, now)
    mean_was, mean_now = (float(values.mean()) if len(values) else 0.0 for values in (was, now))
    return PairedGain(
        tasks=len(names),
        before=mean_was,
        after=mean_now,
        difference=mean_now - mean_was,
        low=low,
        high=high,
        ratio=mean_now / mean_was if mean_was else None,
        ratio_low=ratio_low,
        ratio_high=ratio_high,
        better=better,
        worse=worse,
        p=sign_test(better, worse),
        learned=[name for name, b, a in zip(names, was, now, strict=True) if not b and a],
        unlearned=[name for name, b, a in zip(names, was, now, strict=True) if b and not a],
    )


def _draws(n: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.random.default_rng(0).integers(0, n, size=(DRAWS, n))


def _bootstrapped(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, float] | tuple[None, None]:
    if len(values) < 2:
        return None, None
    means = values[_draws(len(values))].mean(axis=1)
    low, high = np.quantile(means, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return float(low), float(high)


def _ratio_interval(
    was: np.ndarray[tuple[int], np.dtype[np.float64]], now: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> tuple[float, float] | tuple[None, None]:
    if len(was) < 2 or not was.any():
        return None, None
    draws = _draws(len(was))
    below, above = was[draws].mean(axis=1), now[draws].mean(axis=1)
    ratios = np.divide(above, below, out=np.full(DRAWS, np.inf), where=below > 0)
    low, high = np.quantile(ratios, ((1 - LEVEL) / 2, (1 + LEVEL) / 2), method="nearest")
    return float(low), float(high)


@dataclass(frozen=True, kw_only=True)
class SelfTraining:
    """A loop of self-training so far, the model that it began with first.

    Args:
        trained_on: by round, share of right samples of the training tasks.
        kept: by round, share of these samples that is trained on.
        diversity: by round, see `RoundFigures.diversity`, on the training tasks.
        evaluated: by round, the shares of the eval tasks; one more than there are trainings.
    """

    trained_on: Sequence[float]
    kept: Sequence[float]
    diversity: Sequence[float | None]
    evaluated: Sequence[Shares]

    def why_stop(self) -> str:
        """Why it should not go on; empty where nothing speaks against it.

        Error avalanching (arXiv 2309.08589), a verified accuracy on the eval set that has fallen below an earlier
        round's, or answers that have all become the same.
        """
        if (number := avalanche(self.trained_on, self.kept)) is not None:
            return (
                f"error avalanche: by round {number - 1} fewer samples are right and no fewer are kept, twice in a row"
            )
        if len(self.evaluated) > 1:
            *earlier, now = self.evaluated
            best = max(range(len(earlier)), key=lambda at: mean_share(earlier[at]))
            fell = gain_of(earlier[best], now)
            if fell.answer is Conclusion.HURT:
                return f"the verified accuracy has fallen since round {best}: {fell.sentence()}"
        known = [value for value in self.diversity if value is not None]
        if len(known) > 1 and known[-1] < COLLAPSED * known[0]:
            return (
                f"diversity collapsed: {known[-1]:.2f} of a task's samples are different programs, {known[0]:.2f} at"
                " first"
            )
        return ""

    @property
    def best(self) -> int:
        """The round whose model did best on the eval set; of equal ones the first."""
        return max(range(len(self.evaluated)), key=lambda at: (mean_share(self.evaluated[at]), -at))


def mean_share(shares: Shares) -> float:
    """Share of right samples, mean over tasks; 0 of none."""
    return sum(one.share for one in shares.values()) / len(shares) if shares else 0.0
