"""Two arms on the same tasks and seeds: did it help, and how sure is that."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import stats

from groundwire.evaluation._rows import Bools, Floats, Ints
from groundwire.evaluation._trials import Episodes, Trials

RESAMPLES = 9_999
LEVEL = 0.95
EQUAL_WITHIN = 0.10
"""Arms are said to have spent the same where they differ by no more than this share of the larger one."""


class Answer(StrEnum):
    """Whether the one arm did better than the other."""

    HELPED = "helped"
    HURT = "hurt"
    CANT_TELL = "can't tell"


@dataclass(frozen=True)
class Spent:
    """What both arms spent on the pairs.

    Args:
        what: `tokens`, or `judgings` where no model was called.
        arm: by the one.
        control: by the other.
    """

    what: str
    arm: int
    control: int

    @property
    def is_equal(self) -> bool:
        """True where they differ by no more than 10 % of the larger one."""
        return abs(self.arm - self.control) <= EQUAL_WITHIN * max(self.arm, self.control)

    def __str__(self) -> str:
        if not self.control:
            return (
                f"{self.what} {self.arm:,} against none: NOT equal"
                if self.arm
                else "what either side spent is not known"
            )
        said = "equal" if self.is_equal else "NOT equal, so more than reflection differs"
        return f"{self.what} {self.arm:,} against {self.control:,} (×{self.arm / self.control:.2f}): {said}"


def answer_by(low: float | None, high: float | None, p: float, *, more_is_better: bool = True) -> Answer:
    """Whether a difference helped, by both ends of its interval and an exact test's p; see `Comparison.answer`."""
    if low is None or high is None or p >= 1 - LEVEL or low <= 0 <= high:
        return Answer.CANT_TELL
    return Answer.HELPED if (low > 0) == more_is_better else Answer.HURT


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
        low: lower end of its 95 % interval (paired bootstrap over tasks).
        high: upper end.
        better: tasks on which the arm did better.
        worse: tasks on which it did worse.
        p: exact two-sided sign test on these; with one seed a task it is the exact McNemar test.
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
    spent: Spent

    @property
    def answer(self) -> Answer:
        """Helped or hurt only if the interval leaves out 0 and the exact test agrees, since a bootstrap of few tasks is
        narrower than what is known."""
        return answer_by(self.low, self.high, self.p)

    def sentence(self, what: str = "reflection") -> str:
        """What a reader is told first: `reflection helped (n = 164): +8.3 points …`."""
        if self.difference is None or self.low is None or self.high is None:
            return f"can't tell if {what} helped (n = 0): no task was tried by both arms"
        points = 100 * self.difference
        counted = f"{self.better} tasks better, {self.worse} worse, exact p = {self.p:.2g}"
        interval = f"95 % interval {100 * self.low:+.1f} to {100 * self.high:+.1f}; {counted}"
        if self.answer is not Answer.CANT_TELL:
            said = f"{what} {self.answer} (n = {self.tasks}): {points:+.1f} points"
        elif points:
            way = "better" if points > 0 else "worse"
            said = (
                f"can't tell if {what} helped (n = {self.tasks}): {abs(points):.1f} points {way}, which may be chance"
            )
        else:
            said = f"can't tell if {what} helped (n = {self.tasks}): no difference"
        return f"{said} ({interval}); {self.spent}"


def compare(arm: Trials, control: Trials, *, seed: int = 0) -> Comparison:
    """Compares the answers of two arms.

    Args:
        arm: for example with reflection.
        control: for example blind resampling, at equal tokens.
        seed: of the bootstrap.
    """
    mine, theirs, task = _keyed(arm, control)
    tried = (mine.episodes > 0) & (theirs.episodes > 0) & ~mine.given & ~theirs.given
    left_out = int((mine.episodes + theirs.episodes)[~tried].sum())
    _, of = np.unique(task[tried], return_inverse=True)
    ours, others = _mean_by(of, mine.right[tried]), _mean_by(of, theirs.right[tried])
    difference = ours - others
    better, worse = int((difference > 0).sum()), int((difference < 0).sum())
    low, high = paired_interval(difference, seed=seed)
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
        spent=_spent(mine, theirs, tried),
    )


def paired_interval(difference: Floats, *, seed: int = 0) -> tuple[float, float] | tuple[None, None]:
    """The 95 % percentile bootstrap interval of a mean of paired differences (Efron and Tibshirani, 1993).

    Resampling rows is drawing how often each distinct value comes, so a million pairs cost no more than their few
    distinct values.

    Args:
        difference: one a pair.
        seed: of the resampling.

    Returns:
        (None, None) of nothing.
    """
    if not len(difference):
        return None, None
    values, counts = np.unique(difference, return_counts=True)
    n = len(difference)
    drawn = np.random.default_rng(seed).multinomial(n, counts / n, size=RESAMPLES)
    low, high = np.quantile(drawn @ values / n, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


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


def _spent(arm: _Side, control: _Side, tried: Bools) -> Spent:
    tokens = int(arm.tokens[tried].sum()), int(control.tokens[tried].sum())
    if any(tokens):
        return Spent("tokens", *tokens)
    return Spent("judgings", int(arm.judgings[tried].sum()), int(control.judgings[tried].sum()))
