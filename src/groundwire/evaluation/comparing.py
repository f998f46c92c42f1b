"""Two arms on the same tasks and seeds: did it help, and how sure is that."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import stats

from groundwire.evaluation.columns import Floats, Ints
from groundwire.evaluation.episodes import Episodes
from groundwire.evaluation.trials import Trials

__all__ = ["Answer", "Comparison", "Spent", "compare", "paired_interval", "sign_test"]

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
            return f"{self.what} {self.arm:,} against none: NOT equal" if self.arm else f"no {self.what} on either side"
        said = "equal" if self.is_equal else "NOT equal, so more than reflection differs"
        return f"{self.what} {self.arm:,} against {self.control:,} (×{self.arm / self.control:.2f}): {said}"


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
        if self.low is None or self.high is None or self.p >= 1 - LEVEL:
            return Answer.CANT_TELL
        if self.low > 0:
            return Answer.HELPED
        return Answer.HURT if self.high < 0 else Answer.CANT_TELL

    def sentence(self, what: str = "reflection") -> str:
        """What a reader is told first: `reflection helped: +8.3 points (…)`."""
        if self.difference is None or self.low is None or self.high is None:
            return f"{what}: can't tell (n = 0): no task was tried by both arms"
        points = f"{100 * self.difference:+.1f} points"
        interval = f"95 % interval {100 * self.low:+.1f} to {100 * self.high:+.1f}"
        n = f"n = {self.tasks} task{'' if self.tasks == 1 else 's'}, {self.better} better, {self.worse} worse"
        said = f"{what} {self.answer}" if self.answer is not Answer.CANT_TELL else f"can't tell if {what} helped"
        return f"{said}: {points} ({interval}; {n}; exact p = {self.p:.2g}); {self.spent}"


def compare(arm: Trials, control: Trials, *, seed: int = 0) -> Comparison:
    """Compares the answers of two arms.

    Args:
        arm: for example with reflection.
        control: for example blind resampling, at equal tokens.
        seed: of the bootstrap.
    """
    mine, theirs = _by_key(arm), _by_key(control)
    both = sorted(mine.keys() & theirs.keys())
    tried = [key for key in both if not (mine[key].given or theirs[key].given)]
    left_out = sum(p.episodes for p in mine.values()) + sum(p.episodes for p in theirs.values())
    left_out -= sum(mine[key].episodes + theirs[key].episodes for key in tried)
    names = sorted({task for task, _ in tried})
    number = {name: at for at, name in enumerate(names)}
    task = np.array([number[name] for name, _ in tried], dtype=np.int64)
    ours = _by_task(task, np.array([mine[key].right for key in tried]), len(names))
    others = _by_task(task, np.array([theirs[key].right for key in tried]), len(names))
    difference = ours - others
    better, worse = int((difference > 0).sum()), int((difference < 0).sum())
    low, high = paired_interval(difference, seed=seed)
    return Comparison(
        tasks=len(names),
        pairs=len(tried),
        left_out=left_out,
        arm=float(ours.mean()) if len(names) else None,
        control=float(others.mean()) if len(names) else None,
        difference=float(difference.mean()) if len(names) else None,
        low=low,
        high=high,
        better=better,
        worse=worse,
        p=sign_test(better, worse),
        spent=_spent([mine[key] for key in tried], [theirs[key] for key in tried]),
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
class _Pair:
    """An arm's episodes of one task and seed."""

    episodes: int
    right: float
    given: bool
    tokens: int
    judgings: int


def _by_key(trials: Trials) -> dict[tuple[str, int], _Pair]:
    episodes = Episodes.of(trials)
    right, given = episodes.final_right, episodes.given
    tokens, judgings = episodes.total(trials.tokens), episodes.total(trials.judgings)
    found: dict[tuple[str, int], list[int]] = {}
    for at, row in enumerate(trials.starts.tolist()):
        found.setdefault((trials.task[row], int(trials.seed[row])), []).append(at)
    return {
        key: _Pair(
            episodes=len(rows),
            right=float(right[rows].mean()),
            given=bool(given[rows].all()),
            tokens=int(tokens[rows].sum()),
            judgings=int(judgings[rows].sum()),
        )
        for key, rows in found.items()
    }


def _by_task(task: Ints, values: Floats, tasks: int) -> Floats:
    return np.bincount(task, weights=values, minlength=tasks) / np.maximum(np.bincount(task, minlength=tasks), 1)


def _spent(arm: list[_Pair], control: list[_Pair]) -> Spent:
    tokens = sum(p.tokens for p in arm), sum(p.tokens for p in control)
    if any(tokens):
        return Spent("tokens", *tokens)
    return Spent("judgings", sum(p.judgings for p in arm), sum(p.judgings for p in control))
