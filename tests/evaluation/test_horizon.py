"""How far a chain of steps gets."""

from __future__ import annotations

import pytest
from rows import episode, trials

from groundwire.evaluation import Step
from groundwire.evaluation._process import horizon, horizon_length
from groundwire.evaluation._rates import Rate


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
            episode("a", "-", steps=[tuple(Step("x", ok=c == "+") for c in "++--+")]),
            episode("b", "-", steps=[tuple(Step("x", ok=c == "+") for c in "--++")]),
        )
    )
    assert told.step == Rate(5, 9)
    assert (told.after_error, told.after_ok) == (Rate(2, 4), Rate(1, 3))
    assert told.self_conditioning == pytest.approx(1 / 2 - 1 / 3)
    nothing = horizon(trials(episode("a", "+")))
    assert (nothing.length, nothing.self_conditioning, nothing.step.value) == (None, None, None)
