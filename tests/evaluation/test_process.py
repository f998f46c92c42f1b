"""How a trajectory went."""

from __future__ import annotations

from collections import Counter

import pytest
from rows import episode, trials

from groundwire.core._signals import Origin
from groundwire.evaluation import TrialStep
from groundwire.evaluation._process import first_errors, horizon, horizon_length, process, tokens_saved, wandering
from groundwire.evaluation._rates import Rate


def steps(told: str) -> tuple[TrialStep, ...]:
    """A letter a step; a capital one failed."""
    return tuple(TrialStep(letter.lower(), ok=letter.islower()) for letter in told)


def test_the_first_error_and_what_came_of_it() -> None:
    rows = trials(
        episode("a", "-+", steps=[steps("abC"), steps("abd")]),
        episode("b", "-", steps=[steps("Ab")]),
        episode("c", "+", steps=[steps("aBc")]),
        episode("d", "+"),
    )
    assert first_errors(rows).tolist() == [2, -1, 0, 1, -1]
    told = process(rows)
    assert (told.trials, told.steps, told.errors) == (4, 11, Rate(3, 11))
    assert told.first_error == 2.0
    assert (told.trapped, told.recovered) == (Rate(1, 4), Rate(1, 3))
    assert told.kept_prefix == pytest.approx(2 / 3)
    assert process(trials()).first_error is None


def test_what_a_verifier_found_and_what_it_opened() -> None:
    rows = trials(
        episode("a", "--+", origin=Origin.VERIFIER, trigger=[None, Origin.VERIFIER, Origin.VERIFIER]),
        episode("b", "-+"),
    )
    assert (process(rows).violations, process(rows).corrections) == (2, 2)


def test_a_countdown_trace_with_two_planted_repeats() -> None:
    """Row 8. Reach 24 from 8, 4, 2, 6; two states come again, and 8 + 2 = 11 is no sum."""
    states = ["8 4 2 6", "8 6 6", "8 4 2 6", "12 2 6", "8 4 2 6", "11 4 6", "11 24"]
    sums: list[tuple[int, int, int] | None] = [(4, 2, 6), None, (8, 4, 12), None, (8, 2, 11), (4, 6, 24)]
    valid = [one is None or one[2] in (one[0] + one[1], one[0] * one[1]) for one in sums]
    told = wandering(states, valid)
    assert (told.steps, told.revisits, told.invalid) == (6, 2, 1)
    assert told.revisits == sum(n - 1 for n in Counter(states).values())
    assert wandering([], []).revisits == 0
    with pytest.raises(ValueError, match="2 states need 1 transitions, not 0"):
        wandering(["a", "b"], [])


# What ending traces early has saved.


def test_cut_and_unbegun_traces_count_as_long_as_whole_ones() -> None:
    # two whole traces of 100 on average; two were cut at 20, and four of the eight that were planned were not begun
    assert tokens_saved([90, 110, 20, 20], [True, True, False, False], 8) == pytest.approx(1 - 240 / 800)


def test_nothing_was_saved_where_all_were_written() -> None:
    assert tokens_saved([100, 50], [True, True], 2) == 0.0
    assert tokens_saved([300, 50], [False, True], 2) == 0.0, "a cut trace may have been longer than the whole ones"


def test_without_a_whole_trace_it_can_not_be_told() -> None:
    assert tokens_saved([10, 10], [False, False], 4) is None
    assert tokens_saved([], [], 4) is None


# How far a chain of steps gets.


def test_half_of_the_chains_fail_within_69_steps() -> None:
    """Row 36: H_.5(.99) = 69."""
    assert horizon_length(0.99) == 69
    assert horizon_length(0.5) == 1
    assert horizon_length(1.0) is None
    assert horizon_length(0.0) is None


def test_one_error_brings_the_next() -> None:
    """Row 36: P(err | previous err) − P(err | previous ok); the last step of one trial is not before the next one's."""
    told = horizon(
        trials(
            episode("a", "-", steps=[tuple(TrialStep("x", ok=c == "+") for c in "++--+")]),
            episode("b", "-", steps=[tuple(TrialStep("x", ok=c == "+") for c in "--++")]),
        )
    )
    assert told.step == Rate(5, 9)
    assert (told.after_error, told.after_ok) == (Rate(2, 4), Rate(1, 3))
    assert told.self_conditioning == pytest.approx(1 / 2 - 1 / 3)
    nothing = horizon(trials(episode("a", "+")))
    assert (nothing.length, nothing.self_conditioning, nothing.step.value) == (None, None, None)
