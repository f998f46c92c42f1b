"""How a trajectory went."""

from __future__ import annotations

from collections import Counter

import pytest
from rows import episode, trials

from groundwire.core._signals import Origin
from groundwire.evaluation import Step
from groundwire.evaluation._process import first_errors, process, wandering
from groundwire.evaluation._rates import Rate


def steps(told: str) -> tuple[Step, ...]:
    """A letter a step; a capital one failed."""
    return tuple(Step(letter.lower(), ok=letter.islower()) for letter in told)


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
