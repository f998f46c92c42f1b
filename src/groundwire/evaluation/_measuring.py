"""What trying again changed, how often tasks are solved, and all metrics of one arm, as plain data too."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, cast

import numpy as np
from scipy import stats

from groundwire.evaluation._confidence import FOLDS, LEAST, Calibration, HistoryPredictor, UnjudgedAnswer, calibration
from groundwire.evaluation._drift import Drift, Uptake, drift, uptake
from groundwire.evaluation._learning import MemoryEffect, memory_effect
from groundwire.evaluation._process import Cost, Horizon, StepErrors, cost, horizon, process
from groundwire.evaluation._rates import Rate
from groundwire.evaluation._rows import FAIL, NONE, PASS, Floats, Ints, mean_of, origin_name, share
from groundwire.evaluation._signal_quality import Confusion, SignalSources, confusion, confusion_by_origin, provenance
from groundwire.evaluation._trials import Episodes, Trials
from groundwire.evaluation._width import Diversity, Width, diversity, width
from groundwire.evaluation._wording import WORDING_TRIALS, CodeHint

# What trying again changed: fixes, breaks, false passes, and whether right answers are kept and wrong ones fixed.

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


# How often tasks are solved: at the first try, at the end, after each round, and out of k attempts.

MAX_ROUNDS = 50
"""Rounds told apart; later ones are in the last."""


@dataclass(frozen=True)
class RunOutcome:
    """How often a run solved its tasks.

    Args:
        tasks: distinct tasks.
        episodes: episodes.
        already_passing: of these, those whose task was solved before anything was tried; no rate counts them.
        first_try: the first try is right.
        final: the answer is right.
        by_round: the answer after round 0 (what was given), 1, 2 … is right; an episode that has ended keeps its last.
        first_unknown: the first try was judged, but only by tests that a model wrote, by an opinion, or by visible
            tests where hidden ones never judged it: `first_try` and `by_round` count it as wrong, so they are lower
            bounds.
        unjudged: the answer passed what steers, and the task's hidden tests never judged it, so nobody knows.
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
    unjudged: Rate
    unverified: Rate
    no_verdict: Rate
    stops: Mapping[str, int]


def outcome(trials: Trials) -> RunOutcome:
    """First-try and final success (arXiv 2303.11366, 2510.08308).

    An episode without a verdict counts as unsolved: what broke may have broken because of the candidate.
    """
    episodes = Episodes.of(trials)
    counted = episodes.counted
    n = int(counted.sum())
    last = np.maximum(episodes.last, 0)
    visible = np.where(episodes.tried, trials.visible[last], NONE) if len(trials) else np.zeros(0)
    unknown = episodes.truth(episodes.last) == NONE
    passed = counted & unknown & (visible == PASS)
    has_hidden = trials.has_hidden[trials.starts]
    first = np.maximum(episodes.first, 0)
    unseen = episodes.tried & (episodes.truth(episodes.first) == NONE)
    unseen &= (trials.visible[first] != NONE) if len(trials) else unseen
    codes, counts = np.unique(trials.stop.codes[trials.starts], return_counts=True)
    return RunOutcome(
        tasks=len(np.unique(trials.task.codes)),
        episodes=len(trials.starts),
        already_passing=int(episodes.given.sum()),
        first_try=Rate(int((episodes.first_right & counted).sum()), n),
        final=Rate(int((episodes.final_right & counted).sum()), n),
        by_round=success_by_round(trials),
        first_unknown=Rate(int((counted & unseen).sum()), n),
        unjudged=Rate(int((passed & has_hidden).sum()), n),
        unverified=Rate(int((passed & ~has_hidden).sum()), n),
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


# All metrics of one arm, and the same as plain data.


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Everything that is measured of an arm, group by group; each group's module says what its numbers mean.

    Args:
        history: how well an arm's earlier trials foretell its later ones; None where there are too few.
        self_report: how far what models say of themselves holds, over tries that said so and are known to be right or
            wrong; None where none is.
        hints: by why code would do better (`CodeHint`), the share of such episodes whose answer is right.
    """

    outcome: RunOutcome
    attempts: Sequence[Attempts]
    correction: Correction
    signal: Confusion
    signal_by_origin: Mapping[str, Confusion]
    uptake: Uptake
    process: StepErrors
    horizon: Horizon
    width: Width
    diversity: Mapping[int, Diversity]
    drift: Drift
    memory: MemoryEffect
    history: Calibration | None
    self_report: Calibration | None
    hints: Mapping[str, Rate]
    cost: Cost
    provenance: SignalSources


def measure(trials: Trials) -> Measured:
    """Measures an arm: a pure function of its trials."""
    return Measured(
        outcome=outcome(trials),
        attempts=attempts(trials),
        correction=correction(trials),
        signal=confusion(trials),
        signal_by_origin=confusion_by_origin(trials),
        uptake=uptake(trials),
        process=process(trials),
        horizon=horizon(trials),
        width=width(trials),
        diversity=diversity(trials),
        drift=drift(trials),
        memory=memory_effect(trials),
        history=history_calibration(trials),
        self_report=_self_report(trials),
        hints=_by_hint(trials),
        cost=cost(trials),
        provenance=provenance(trials),
    )


def _self_report(trials: Trials) -> Calibration | None:
    known = ~trials.is_given & (trials.truth != NONE) & ~np.isnan(trials.self_report)
    return calibration(trials.self_report[known], trials.truth[known] == PASS)


def _by_hint(trials: Trials) -> Mapping[str, Rate]:
    episodes = Episodes.of(trials)
    codes = trials.hint.codes[trials.starts]
    found: dict[str, Rate] = {}
    for hint in CodeHint:
        named = [code for code, name in enumerate(trials.hint.names) if hint in name.split()]
        which = episodes.counted & np.isin(codes, named)
        if which.any():
            found[hint] = Rate(int((which & episodes.final_right).sum()), int(which.sum()))
    return found


def history_calibration(trials: Trials) -> Calibration | None:
    """Scores the history predictor (arXiv 2509.24988) as it would have been used: the first two thirds of the episodes
    foretell the rest. None where either part is too short or all came out the same."""
    known = np.flatnonzero(~trials.is_given & (trials.truth != NONE))[-WORDING_TRIALS:]
    until = trials.number[known[2 * len(known) // 3]] if len(known) >= 2 * LEAST else 0
    past, rest = known[trials.number[known] < until], known[trials.number[known] >= until]
    right = trials.truth == PASS
    rarer = min(int(right[past].sum()), int((~right[past]).sum()))
    if len(past) < LEAST or rarer < FOLDS or not len(rest):
        return None
    predictor = HistoryPredictor([_attempt(trials, row) for row in past], right[past].tolist())
    return calibration(predictor.predict([_attempt(trials, row) for row in rest]), right[rest])


def _attempt(trials: Trials, row: int) -> UnjudgedAnswer:
    question = f"{trials.family[row]} {trials.task[row]} trial{int(trials.trial[row])}"
    words, model = trials.wording[row], trials.model[row]
    return UnjudgedAnswer(question, words, model=model, tokens=int(trials.tokens[row]))


def as_data(value: object) -> Any:
    """Plain data for JSON: what a dataclass holds, and what its properties say of that."""
    if isinstance(value, Enum):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        named = [f.name for f in fields(value)]
        named += [name for name, own in vars(type(value)).items() if isinstance(own, property)]
        return {name: as_data(getattr(value, name)) for name in named}
    if isinstance(value, Mapping):
        return {str(key): as_data(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [as_data(item) for item in cast("Sequence[object]", value)]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
