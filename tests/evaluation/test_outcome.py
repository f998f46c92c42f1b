"""How often tasks are solved."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from rows import episode, trials

from groundwire.core._signals import Origin
from groundwire.evaluation._measuring import attempts, outcome, pass_at_k, pass_hat_k
from groundwire.evaluation._rates import Rate


def test_pass_at_4_and_pass_hat_4_of_three_right_and_one_wrong() -> None:
    """Row 101."""
    n, c = np.array([4]), np.array([3])
    assert pass_hat_k(n, c, 4) == 0
    assert pass_at_k(n, c, 4) == 1


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_both_are_the_share_of_all_ways_to_draw(k: int) -> None:
    """Unbiased: the same as going through every subset."""
    tasks = [[1, 1, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], [1, 0]]
    enough = [task for task in tasks if len(task) >= k]
    ways = [list(combinations(task, k)) for task in enough]
    n, c = np.array([len(task) for task in tasks]), np.array([sum(task) for task in tasks])
    assert pass_at_k(n, c, k) == pytest.approx(np.mean([np.mean([any(w) for w in task]) for task in ways]))
    assert pass_hat_k(n, c, k) == pytest.approx(np.mean([np.mean([all(w) for w in task]) for task in ways]))
    assert pass_at_k(n, c, 7) is None


def test_a_run_is_told_by_round_and_may_fall() -> None:
    told = outcome(
        trials(
            episode("a", "-+", stop="verified"),
            episode("b", "+", stop="verified"),
            episode("c", "---", hidden="+--", stop="budget_trials"),
            episode("d", "+", trial=0, stop="already_passing"),
            episode("e", "-?", judgings=1, stop="no_verdict"),
            episode("f", "+", origin=Origin.MODEL_TESTS, stop="internal_pass"),
            episode("g", "?", trial=0, stop="model_error"),
            episode("h", "-?", judgings=[1, 0], stop="exhausted"),
        )
    )
    assert (told.tasks, told.episodes, told.already_passing) == (8, 8, 1)
    assert (told.first_try, told.final) == (Rate(2, 7), Rate(2, 7))
    assert [r.part for r in told.by_round] == [0, 2, 2, 2], "c was right after round 1, and is no longer"
    assert (told.unverified, told.no_verdict) == (Rate(1, 7), Rate(2, 7)), "h's answer failed, and nothing came after"
    assert told.stops["verified"] == 2
    assert told.final.interval == pytest.approx((0.0822, 0.6411), abs=1e-4)
    nothing = outcome(trials())
    assert (nothing.episodes, nothing.final.value, nothing.by_round) == (0, None, ())


def test_attempts_are_episodes_of_one_task() -> None:
    seeds = [episode(f"a{at}", said, task="a", seed=at) for at, said in enumerate(["+", "+", "+", "-"])]
    one, two, four = attempts(trials(*seeds, episode("b", "-")))
    assert (one.k, one.tasks, one.at_least_one) == (1, 2, pytest.approx(0.375))
    assert (two.at_least_one, two.all_of_them) == (1.0, pytest.approx(0.5))
    assert (four.k, four.tasks, four.at_least_one, four.all_of_them) == (4, 1, 1.0, 0.0)
