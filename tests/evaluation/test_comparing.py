"""Did it help, and how sure is that."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from rows import episode, trials
from scipy import stats

from groundwire.evaluation import Trials
from groundwire.evaluation._comparing import Conclusion, compare, paired_interval, sign_test
from groundwire.evaluation._rates import Rate


def arm(right: str, *, tokens: int = 100, seeds: int = 1) -> Trials:
    """A task a character."""
    return trials(
        *(
            episode(f"{at}.{seed}", said, task=f"t{at}", seed=seed, tokens=tokens)
            for at, said in enumerate(right)
            for seed in range(seeds)
        )
    )


def test_twenty_tasks_mended_and_none_broken_is_help() -> None:
    told = compare(arm("+" * 30 + "-" * 10), arm("+" * 10 + "-" * 30))
    assert (told.tasks, told.pairs, told.better, told.worse) == (40, 40, 20, 0)
    assert (told.arm, told.control, told.difference) == (0.75, 0.25, 0.5)
    assert told.answer is Conclusion.HELPED
    assert told.p == pytest.approx(2 / 2**20)
    said = told.sentence()
    assert said.startswith(
        "reflection helped (n = 40): +50.0 points (95 % interval +30.6 to +64.6; 20 tasks better, 0 worse"
    )
    assert said.endswith("; allowed 1 trial each: equal; tokens 4,000 against 4,000 (×1.00)")


def test_what_hurts_is_said_so() -> None:
    told = compare(arm("-" * 20 + "+" * 5), arm("+" * 25, tokens=50))
    assert told.answer is Conclusion.HURT
    assert told.sentence().startswith("NOT equal: reflection hurt (n = 25): -80.0 points")
    assert (
        "allowed 1 trial each, ×2.00 tokens a try: NOT equal, so more than what is compared differs" in told.sentence()
    )


@pytest.mark.parametrize(
    ("right", "control"),
    [
        ("+" * 10 + "-" * 10, "-" * 10 + "+" * 10),
        ("+", "-"),
        ("+++++", "-----"),
        ("++++", "++++"),
    ],
)
def test_what_chance_could_do_is_not_called_help(right: str, control: str) -> None:
    """Five mended of five are p = .06."""
    told = compare(arm(right), arm(control))
    assert told.answer is Conclusion.CANT_TELL
    assert told.sentence().startswith(f"can't tell if reflection helped (n = {len(right)}): ")
    assert ("no difference" if told.difference == 0 else "points better, which may be chance") in told.sentence()


def test_arms_without_a_common_task() -> None:
    told = compare(arm("++"), trials(episode("x", "+", task="other")))
    assert (told.tasks, told.left_out, told.difference, told.p) == (0, 3, None, 1.0)
    assert told.sentence() == "can't tell if reflection helped (n = 0): no task was tried by both arms"
    assert compare(arm(""), arm("")).answer is Conclusion.CANT_TELL


def test_seeds_of_one_task_are_no_tasks_of_their_own() -> None:
    told = compare(arm("+" * 3, seeds=10), arm("-" * 3, seeds=10))
    assert (told.tasks, told.pairs, told.answer) == (3, 30, Conclusion.CANT_TELL)
    alone = compare(trials(episode("a", "+", task="t", seed=1)), trials(episode("b", "+", task="t", seed=2)))
    assert (alone.pairs, alone.left_out) == (0, 2)


def test_tasks_that_passed_before_anything_was_tried_are_left_out() -> None:
    given = trials(episode("a", "+", task="t", trial=0))
    assert compare(given, given).left_out == 2


def test_without_a_model_judgings_are_what_is_spent() -> None:
    rows = trials(episode("a", "-", task="t", judgings=7))
    told = compare(rows, trials(episode("a", "-", task="t", judgings=9)))
    assert str(told.spent) == "judgings 7 against 9 (×0.78)"


LEAST_COVERED = 0.93
SIZES = [5, 10, 30, 134]


def covered(inside: Callable[[int, int], tuple[float, float]], n: int, better: float, worse: float) -> float:
    """How often the interval of n pairs holds the true difference, exactly: over all that n pairs can come to."""
    b, c = (grid.ravel() for grid in np.meshgrid(np.arange(n + 1), np.arange(n + 1)))
    b, c = b[b + c <= n], c[b + c <= n]
    drawn = np.column_stack([b, c, n - b - c])
    chance = np.asarray(stats.multinomial.pmf(drawn, n, [better, worse, 1 - better - worse]), dtype=np.float64)
    told = [low - 1e-9 <= better - worse <= high + 1e-9 for low, high in map(inside, b.tolist(), c.tolist())]
    return float(chance[told].sum())


@pytest.mark.parametrize("n", SIZES)
def test_the_interval_of_pairs_covers_what_it_says(n: int) -> None:
    """A percentile bootstrap covered 71 % at n = 5 and 89 % at n = 10."""

    @cache
    def inside(b: int, c: int) -> tuple[float, float]:
        low, high = paired_interval(np.array([1.0] * b + [-1.0] * c + [0.0] * (n - b - c)))
        assert low is not None and high is not None
        return low, high

    truths = [(0.0, 0.0), (0.05, 0.0), (0.1, 0.02), (0.3, 0.1), (0.5, 0.5), (0.6, 0.3), (0.9, 0.05), (0.02, 0.7)]
    told = {truth: covered(inside, n, *truth) for truth in truths}
    assert min(told.values()) >= LEAST_COVERED, told


@pytest.mark.parametrize("n", SIZES)
def test_the_interval_of_seeds_and_of_trials_to_success_covers_too(n: int) -> None:
    """By simulation: 2,000 draws each, of means over three seeds, and of trials out of six."""
    random = np.random.default_rng(5)
    seeds = (random.binomial(3, 0.7, (2000, n)) - random.binomial(3, 0.5, (2000, n))) / 3
    trials_taken = np.minimum(random.geometric(0.45, (2000, n)), 6).astype(np.float64)
    mean = float(np.minimum(np.random.default_rng(6).geometric(0.45, 10**6), 6).mean())
    for drawn, truth, least, most in ((seeds, 0.2, -1.0, 1.0), (trials_taken, mean, 1.0, 6.0)):
        ends = [paired_interval(row, least=least, most=most) for row in drawn]
        inside = [low <= truth <= high for low, high in ends if low is not None and high is not None]
        assert sum(inside) / 2000 >= LEAST_COVERED


@pytest.mark.parametrize("n", SIZES)
def test_the_interval_of_a_rate_covers_what_it_says(n: int) -> None:
    ends = [Rate(k, n).interval for k in range(n + 1)]
    for truth in (0.001, 0.02, 0.1, 0.37, 0.5, 0.95):
        inside = [low <= truth <= high for low, high in ends]
        assert stats.binom.pmf(np.arange(n + 1), n, truth)[inside].sum() >= 0.95
    theirs = stats.binomtest(2, n).proportion_ci(method="exact")
    assert Rate(2, n).interval == pytest.approx((theirs.low, theirs.high))


def test_of_one_pair_no_interval_is_shown_and_it_is_said() -> None:
    assert paired_interval(np.zeros(0)) == paired_interval(np.ones(1)) == (None, None)
    told = compare(arm("+"), arm("-"))
    assert told.answer is Conclusion.CANT_TELL
    assert "100.0 points better, which may be chance (no interval of a single task; 1 task better" in told.sentence()


def test_the_sign_test_is_the_exact_mcnemar_test() -> None:
    assert sign_test(0, 0) == 1
    assert sign_test(9, 1) == pytest.approx(2 * 11 / 1024)
    assert sign_test(1, 9) == sign_test(9, 1)
