"""Two arms on the same tasks and seeds: did it help, and how sure is that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import stats

from groundwire.core._text import plural
from groundwire.evaluation._allowances import Allowance, ComparedAllowances, allowed_alike
from groundwire.evaluation._rows import Bools, Floats, Ints
from groundwire.evaluation._trials import Episodes, Trials

LEVEL = 0.95


class Conclusion(StrEnum):
    """Whether the one arm did better than the other."""

    HELPED = "helped"
    HURT = "hurt"
    CANT_TELL = "can't tell"


@dataclass(frozen=True)
class ArmSpending:
    """What both arms spent on the pairs. It says nothing of fairness: a loop that stops at success spends less the more
    it solves.

    Args:
        what: `tokens`, or `judgings` where no model was called.
        arm: by the one.
        control: by the other.
    """

    what: str
    arm: int
    control: int

    def __str__(self) -> str:
        if not self.control:
            return f"{self.what} {self.arm:,} against none" if self.arm else "what each side spent is not known"
        return f"{self.what} {self.arm:,} against {self.control:,} (×{self.arm / self.control:.2f})"


def answer_by(low: float | None, high: float | None, p: float, *, more_is_better: bool = True) -> Conclusion:
    """Whether a difference helped, by both ends of its interval and an exact test's p; see `Comparison.answer`."""
    if low is None or high is None or p >= 1 - LEVEL or low <= 0 <= high:
        return Conclusion.CANT_TELL
    return Conclusion.HELPED if (low > 0) == more_is_better else Conclusion.HURT


@dataclass(frozen=True)
class Comparison:
    """An arm beside its control, paired on task and seed; a task is the unit, its seeds are averaged.

    Args:
        tasks: tasks that both arms tried (n).
        pairs: episodes of these that are paired.
        left_out: episodes of either arm without a partner, or whose task passed before anything was tried.
        arm: success of the one, mean over tasks.
        control: success of the other.
        difference: `arm − control`.
        low: lower end of its 95 % interval over tasks (`paired_interval`); None of fewer than two tasks.
        high: upper end.
        better: tasks on which the arm did better.
        worse: tasks on which it did worse.
        p: exact two-sided sign test on these; with one seed a task it is the exact McNemar test.
        allowed: what both were allowed; the numbers here are of both within the smaller allowance.
        spent: what both spent on the pairs.
    """

    tasks: int
    pairs: int
    left_out: int
    arm: float | None
    control: float | None
    difference: float | None
    low: float | None
    high: float | None
    better: int
    worse: int
    p: float
    allowed: ComparedAllowances
    spent: ArmSpending

    @property
    def answer(self) -> Conclusion:
        """Helped or hurt only if the interval leaves out 0 and the exact test agrees."""
        return answer_by(self.low, self.high, self.p)

    def sentence(self, what: str = "reflection") -> str:
        """What a reader is told first: `reflection helped (n = 164): +8.3 points …`; `NOT equal: …` where one arm might
        use more than the other."""
        if self.difference is None:
            return f"can't tell if {what} helped (n = 0): no task was tried by both arms"
        points = 100 * self.difference
        counted = f"{plural(self.better, 'task')} better, {self.worse} worse, exact p = {self.p:.2g}"
        interval = f"no interval of a single task; {counted}"
        if self.low is not None and self.high is not None:
            interval = f"95 % interval {100 * self.low:+.1f} to {100 * self.high:+.1f}; {counted}"
        if self.answer is not Conclusion.CANT_TELL:
            said = f"{what} {self.answer} (n = {self.tasks}): {points:+.1f} points"
        elif points:
            way = "better" if points > 0 else "worse"
            said = (
                f"can't tell if {what} helped (n = {self.tasks}): {abs(points):.1f} points {way}, which may be chance"
            )
        else:
            said = f"can't tell if {what} helped (n = {self.tasks}): no difference"
        unequal = "" if self.allowed.is_equal else "NOT equal: "
        return f"{unequal}{said} ({interval}); {self.allowed}; {self.spent}"


def compare(
    arm: Trials,
    control: Trials,
    *,
    allowed: Allowance | None = None,
    control_allowed: Allowance | None = None,
    held_to: str = "",
) -> Comparison:
    """Compares the answers of two arms, both cut to the smaller of what their episodes might use.

    Args:
        arm: for example with reflection.
        control: for example blind resampling.
        allowed: what an episode of the arm might use; trials that are not told are the most that were seen.
        control_allowed: likewise.
        held_to: see `ComparedAllowances`.
    """
    arm, control, both = allowed_alike(
        arm, control, allowed or Allowance(), control_allowed or Allowance(), held_to=held_to
    )
    mine, theirs, task = _keyed(arm, control)
    tried = (mine.episodes > 0) & (theirs.episodes > 0) & ~mine.given & ~theirs.given
    left_out = int((mine.episodes + theirs.episodes)[~tried].sum())
    _, of = np.unique(task[tried], return_inverse=True)
    ours, others = _mean_by(of, mine.right[tried]), _mean_by(of, theirs.right[tried])
    difference = ours - others
    better, worse = int((difference > 0).sum()), int((difference < 0).sum())
    low, high = paired_interval(difference)
    return Comparison(
        tasks=len(ours),
        pairs=int(tried.sum()),
        left_out=left_out,
        arm=float(ours.mean()) if len(ours) else None,
        control=float(others.mean()) if len(ours) else None,
        difference=float(difference.mean()) if len(ours) else None,
        low=low,
        high=high,
        better=better,
        worse=worse,
        p=sign_test(better, worse),
        allowed=both,
        spent=_spent(mine, theirs, tried),
    )


def paired_interval(
    difference: Floats, *, least: float = -1.0, most: float = 1.0
) -> tuple[float, float] | tuple[None, None]:
    """The 95 % interval of a mean of paired differences: the adjusted Wald interval, with Student's t.

    One value is added at each end of what a difference can be, and the interval is that of the mean of them all (Bonett
    and Price, Statistics in Medicine 31, 2012, for pairs of verdicts; with the quantile of t at n − 1). So it has a
    width where all differences are the same, and covers at five pairs too, where a bootstrap does not.

    Args:
        difference: one a pair.
        least: the lowest that a difference can be.
        most: the highest.

    Returns:
        (None, None) of fewer than two: one pair tells nothing of how pairs differ.
    """
    n = len(difference)
    if n < 2:
        return None, None
    mean = (float(difference.sum()) + least + most) / (n + 2)
    square = (float((difference**2).sum()) + least**2 + most**2) / (n + 2)
    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * math.sqrt(max(square - mean**2, 0.0) / (n + 2))
    return max(least, mean - half), min(most, mean + half)


def sign_test(better: int, worse: int) -> float:
    """Exact two-sided p of as many pairs on one side, were each side as likely; 1 where no pair differs.

    On pairs of verdicts this is the exact McNemar test (Psychometrika 12, 1947).
    """
    return float(stats.binomtest(better, better + worse).pvalue) if better + worse else 1.0


@dataclass(frozen=True)
class _Side:
    """One arm by task and seed, in the order that both arms share.

    Args:
        episodes: how many it has.
        right: share of them whose answer is right.
        given: True where all of them passed before anything was tried.
        tokens: of all of them.
        judgings: of all of them.
    """

    episodes: Ints
    right: Floats
    given: Bools
    tokens: Ints
    judgings: Ints


def _keyed(arm: Trials, control: Trials) -> tuple[_Side, _Side, Ints]:
    """Both arms by task and seed, and the task of each such pair."""
    number = {name: at for at, name in enumerate(dict.fromkeys([*arm.task.names, *control.task.names]))}
    keys = [
        np.stack([np.array([number[name] for name in t.task.names], dtype=np.int64)[t.task.codes], t.seed])[:, t.starts]
        for t in (arm, control)
    ]
    pairs, key = np.unique(np.concatenate(keys, axis=1), axis=1, return_inverse=True)
    key = key.reshape(-1)
    middle = len(arm.starts)
    size = pairs.shape[1]
    return _side(arm, key[:middle], size), _side(control, key[middle:], size), pairs[0]


def _side(trials: Trials, key: Ints, size: int) -> _Side:
    episodes = Episodes.of(trials)
    count = np.bincount(key, minlength=size)

    def total(values: Floats | Ints | Bools) -> Floats:
        return np.bincount(key, weights=values, minlength=size).astype(np.float64)

    return _Side(
        episodes=count,
        right=total(episodes.final_right) / np.maximum(count, 1),
        given=total(episodes.given) == count,
        tokens=total(episodes.total(trials.tokens)).astype(np.int64),
        judgings=total(episodes.total(trials.judgings)).astype(np.int64),
    )


def _mean_by(group: Ints, values: Floats) -> Floats:
    count = np.bincount(group)
    return np.bincount(group, weights=values) / count if len(count) else values[:0]


def _spent(arm: _Side, control: _Side, tried: Bools) -> ArmSpending:
    tokens = int(arm.tokens[tried].sum()), int(control.tokens[tried].sum())
    if any(tokens):
        return ArmSpending("tokens", *tokens)
    return ArmSpending("judgings", int(arm.judgings[tried].sum()), int(control.judgings[tried].sum()))
