"""The estimate that decides over a lesson."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.memory._usefulness import FEWEST_TRIALS, PassRate, Standing, expected_rate


def test_without_any_trial_half_are_expected_to_pass() -> None:
    assert expected_rate(PassRate(), PassRate(), PassRate()) == 0.5


def test_a_tasks_own_rate_outweighs_that_of_its_family() -> None:
    hard, easy = PassRate(40, 2), PassRate(400, 380)
    assert expected_rate(hard, easy, easy) < 0.2
    assert expected_rate(PassRate(), hard, easy) < 0.2, "a new task is taken for one of its family"
    assert expected_rate(PassRate(), PassRate(), easy) > 0.9


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_rates_stay_between_nothing_and_all(trials: int, passed: int) -> None:
    rate = PassRate(trials, min(trials, passed))
    assert 0.0 <= expected_rate(rate, rate, rate) <= 1.0


@given(st.integers(1, 10**4), st.integers(0, 10**4))
def test_the_interval_holds_the_rate(trials: int, passed: int) -> None:
    low, high = Standing(trials, min(trials, passed)).interval
    rate = min(trials, passed) / trials
    assert -1e-9 <= low <= rate + 1e-9 and rate - 1e-9 <= high <= 1 + 1e-9


def test_the_interval_is_wilsons() -> None:
    """Worked by hand from Wilson 1927: (0.2 + 4.4045/10 ± 2.968 √(0.016 + 0.022023)) / 1.8809 for 2 of 10."""
    low, high = Standing(10, 2).interval
    assert (round(low, 3), round(high, 3)) == (0.033, 0.648)


def test_nothing_is_said_before_five_trials() -> None:
    assert not Standing(FEWEST_TRIALS - 1, 0, 4.0).lowers_success
    assert Standing(FEWEST_TRIALS, 0, 5.0).lowers_success


@pytest.mark.parametrize(
    ("trials", "passed", "expected", "lowers"),
    [(20, 0, 10.0, True), (20, 2, 15.0, True), (20, 8, 10.0, False), (20, 0, 0.5, False), (20, 20, 10.0, False)],
)
def test_only_what_is_surely_below_its_tasks_rate(trials: int, passed: int, expected: float, lowers: bool) -> None:
    assert Standing(trials, passed, expected).lowers_success is lowers


def test_a_lesson_that_does_nothing_is_seldom_taken_for_harmful() -> None:
    """Looked at after each of 50 outcomes, as the ledger does."""
    for rate, most in ((0.2, 1), (0.6, 3), (0.9, 6)):
        chance = random.Random(3)
        caught = sum(_is_caught(rate, chance) for _ in range(400))
        assert caught <= most * 4, f"{most} of 100 at most, where {rate:.0%} pass"


def _is_caught(rate: float, chance: random.Random) -> bool:
    passed = 0
    for trials in range(1, 51):
        passed += chance.random() < rate
        if Standing(trials, passed, rate * trials).lowers_success:
            return True
    return False


@pytest.mark.parametrize("rate", [0.5, 0.6, 0.8, 1.0])
def test_a_lesson_that_spoils_every_trial_is_caught_soon(rate: float) -> None:
    assert any(Standing(trials, 0, rate * trials).lowers_success for trials in range(1, 11))


def test_effect_is_drawn_towards_nothing_while_trials_are_few() -> None:
    few, many = Standing(1, 1, 0.5), Standing(100, 100, 50.0)
    assert 0 < few.effect < 0.15 < many.effect < 0.5
    assert Standing().effect == 0.0
    assert Standing(10, 0, 5.0).effect < 0


def test_it_reads_as_a_sentence() -> None:
    assert str(Standing()) == "never measured"
    assert str(Standing(10, 2, 6.0)).startswith("2 of 10 trials passed, 6.0 were to be expected; 99.7 % interval 3% to")
