"""Did it help, and how sure is that."""

from __future__ import annotations

import numpy as np
import pytest
from rows import episode, trials
from scipy import stats

from groundwire.evaluation import Trials
from groundwire.evaluation._comparing import Answer, compare, paired_interval, sign_test


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
    assert told.answer is Answer.HELPED
    assert told.p == pytest.approx(2 / 2**20)
    said = told.sentence()
    assert said.startswith(
        "reflection helped (n = 40): +50.0 points (95 % interval +35.0 to +65.0; 20 tasks better, 0 worse"
    )
    assert said.endswith("tokens 4,000 against 4,000 (×1.00): equal")


def test_what_hurts_is_said_so() -> None:
    told = compare(arm("-" * 20 + "+" * 5), arm("+" * 25, tokens=50))
    assert told.answer is Answer.HURT
    assert told.sentence().startswith("reflection hurt (n = 25): -80.0 points")
    assert "NOT equal, so more than reflection differs" in told.sentence()


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
    """Five mended of five would leave out 0 by bootstrap, and are p = .06."""
    told = compare(arm(right), arm(control))
    assert told.answer is Answer.CANT_TELL
    assert told.sentence().startswith(f"can't tell if reflection helped (n = {len(right)}): ")
    assert ("no difference" if told.difference == 0 else "points better, which may be chance") in told.sentence()


def test_arms_without_a_common_task() -> None:
    told = compare(arm("++"), trials(episode("x", "+", task="other")))
    assert (told.tasks, told.left_out, told.difference, told.p) == (0, 3, None, 1.0)
    assert told.sentence() == "can't tell if reflection helped (n = 0): no task was tried by both arms"
    assert compare(arm(""), arm("")).answer is Answer.CANT_TELL


def test_seeds_of_one_task_are_no_tasks_of_their_own() -> None:
    told = compare(arm("+" * 3, seeds=10), arm("-" * 3, seeds=10))
    assert (told.tasks, told.pairs, told.answer) == (3, 30, Answer.CANT_TELL)
    alone = compare(trials(episode("a", "+", task="t", seed=1)), trials(episode("b", "+", task="t", seed=2)))
    assert (alone.pairs, alone.left_out) == (0, 2)


def test_tasks_that_passed_before_anything_was_tried_are_left_out() -> None:
    given = trials(episode("a", "+", task="t", trial=0))
    assert compare(given, given).left_out == 2


def test_without_a_model_judgings_are_what_is_spent() -> None:
    rows = trials(episode("a", "-", task="t", judgings=7))
    told = compare(rows, trials(episode("a", "-", task="t", judgings=9)))
    assert str(told.spent) == "judgings 7 against 9 (×0.78): NOT equal, so more than reflection differs"


def test_the_interval_is_the_bootstrap_of_scipy() -> None:
    """Drawing how often each value comes is drawing rows."""
    random = np.random.default_rng(3)
    difference = random.choice([-1.0, -0.5, 0.0, 0.5, 1.0], size=120, p=[0.05, 0.1, 0.5, 0.2, 0.15])
    theirs = stats.bootstrap((difference,), np.mean, n_resamples=9999, method="percentile", rng=random)
    low, high = theirs.confidence_interval
    assert paired_interval(difference) == pytest.approx((low, high), abs=0.01)
    assert paired_interval(difference, seed=5) == paired_interval(difference, seed=5)
    assert paired_interval(np.zeros(0)) == (None, None)


def test_the_sign_test_is_the_exact_mcnemar_test() -> None:
    assert sign_test(0, 0) == 1
    assert sign_test(9, 1) == pytest.approx(2 * 11 / 1024)
    assert sign_test(1, 9) == sign_test(9, 1)
