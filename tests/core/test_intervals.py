"""Wilson's interval against published figures, and where it can't tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._intervals import wilson


@pytest.mark.parametrize(
    ("passed", "trials", "low", "high"),
    [(4, 20, 0.081, 0.416), (81, 263, 0.255, 0.366), (1, 29, 0.006, 0.172), (0, 20, 0.0, 0.161)],
)
def test_known_ones(passed: int, trials: int, low: float, high: float) -> None:
    assert wilson(passed, trials) == pytest.approx((low, high), abs=0.0006)


def test_without_trials_it_may_be_anything() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(1, 10_000), st.data())
def test_it_holds_the_rate_and_widens_with_z(trials: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, trials))
    low, high = wilson(passed, trials)
    wider = wilson(passed, trials, 3.0)
    slack = 1e-9
    assert 0 <= wider[0] <= low + slack and low <= passed / trials + slack
    assert passed / trials <= high + slack and high <= wider[1] + slack <= 1 + 2 * slack
