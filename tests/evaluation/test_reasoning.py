"""What a trace spent on thinking again."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from groundwire.core._errors import ConfigError
from groundwire.evaluation._reasoning import (
    EarlyStop,
    ReasoningTrace,
    WrongTrace,
    early_stop,
    reflecting,
    step_uses,
    switches,
    underthinking,
)


def test_the_worked_example_of_underthinking() -> None:
    """Row 7: 411 of 7,681 tokens."""
    assert underthinking([WrongTrace(7681, 411)]) == pytest.approx(0.9465, abs=1e-4)
    assert underthinking([WrongTrace(100, 50), WrongTrace(100, None)]) == 0.25
    assert underthinking([]) is None


def test_most_reflection_confirms() -> None:
    """Row 15."""
    same = reflecting([("7", 400), ("7", 600), ("7", 900)], 1000, "7")
    assert same is not None
    assert (same.first_is_final, same.share, same.confirming, same.corrective) == (True, 0.6, 2, 0)
    mended = reflecting([("5", 100), ("7", 200)], 200, "7")
    assert mended is not None
    assert (mended.first_is_final, mended.corrective, mended.corrupting, mended.share) == (False, 1, 0, 0.5)
    worse = reflecting([("7", 1), ("5", 2), ("6", 3)], 3, "7")
    assert worse is not None
    assert (worse.corrupting, worse.other) == (1, 1)
    assert reflecting([], 10, "7") is None


def test_an_early_stop_saves_tokens_and_loses_what_reflection_would_have_mended() -> None:
    """Row 15: stopped at the first candidate, but where the controller calls the question worth more."""
    kept = ReasoningTrace([("7", 400), ("7", 900)], 1000, "7")
    mended = ReasoningTrace([("5", 100), ("7", 900)], 1000, "7")
    told = early_stop([kept, mended, ReasoningTrace([], 50, "7")])
    assert told == EarlyStop(traces=2, stopped=2, saved=1500 / 2000, before=1.0, after=0.5)
    told = early_stop([kept, dataclasses.replace(mended, worth=True)])
    assert told == EarlyStop(traces=2, stopped=1, saved=600 / 2000, before=1.0, after=1.0)
    assert early_stop([]) is None


def test_switches() -> None:
    assert switches("Wait, that is odd. Alternatively, let me try x. The waiter waits.") == 3
    assert switches("") == 0


def test_a_planted_useful_step_lowers_the_entropy_and_filler_does_not() -> None:
    """Row 87; it refuses to run without a reference."""

    def entropy(steps: Sequence[str], reference: str) -> float:
        return 0.1 if any(reference in step for step in steps) else 2.0

    filler, useful, after = step_uses(["let me see", "so it is 42", "indeed"], "42", entropy)
    assert (filler.useful, useful.useful, after.useful) == (False, True, False)
    assert useful.gain == pytest.approx(1.9)
    with pytest.raises(ConfigError, match="without the right answer"):
        step_uses(["a"], None, entropy)
