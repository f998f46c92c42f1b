"""Whether an arm learns, by trial, by episode and on worlds that it never saw, and what memory carried over.

Episodes stand in the order of their seeds, which is the order in which they are played unless several are at a time.
An episode without a verdict counts as not won.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from groundwire.core._signals import Origin
from groundwire.evaluation._allowances import Allowance
from groundwire.evaluation._comparing import Conclusion, answer_by, compare, paired_interval, sign_test
from groundwire.evaluation._rates import Rate
from groundwire.evaluation._rows import NONE, ORIGINS, PASS, Floats, Ints
from groundwire.evaluation._trials import Episodes, Trials

# What memory wrote and gave, and how many trials a task takes after k episodes of its family.

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
        low: lower end of the mean's 95 % interval (`paired_interval`); None of fewer than two tasks.
        high: upper end.
    """

    after: int
    until: int | None
    solved: Rate
    mean: float
    low: float | None
    high: float | None


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
        low, high = paired_interval(part.astype(np.float64), least=1.0, most=most + 1.0)
        if len(part):
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
class PairedDifference:
    """One number with memory and without, paired by seed.

    Args:
        what: for people.
        pairs: seeds that both arms played (n).
        memory: with memory, a mean.
        control: without.
        difference: `memory − control`.
        low: lower end of its 95 % interval over seeds (`paired_interval`); None of fewer than two seeds.
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
    answer: Conclusion


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


def differences(memory: Trials, control: Trials, most: int) -> Sequence[PairedDifference]:
    """What memory bought: episodes won, first tries won, trials to success.

    Args:
        memory: the arm with memory.
        control: the one without, on the same seeds.
        most: trials that one episode may have.
    """
    both = Allowance(trials=most)
    won = compare(memory, control, allowed=both, control_allowed=both)
    mine, theirs = (dict(zip(*map(np.ndarray.tolist, _to_success(t, most)), strict=True)) for t in (memory, control))
    both = sorted(mine.keys() & theirs.keys())
    ours = np.array([mine[seed] for seed in both], dtype=np.float64)
    others = np.array([theirs[seed] for seed in both], dtype=np.float64)
    return [
        PairedDifference(
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
        *([_paired("trials to success", ours, others, up=False, span=float(most))] if most > 1 else []),
    ]


def _paired(what: str, ours: Floats, others: Floats, *, up: bool, span: float = 1.0) -> PairedDifference:
    ours, others = ours.astype(np.float64), others.astype(np.float64)
    gap = ours - others
    better, worse = int((gap > 0).sum()), int((gap < 0).sum())
    better, worse = (better, worse) if up else (worse, better)
    low, high = paired_interval(gap, least=-span, most=span)
    p = sign_test(better, worse)
    return PairedDifference(
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
