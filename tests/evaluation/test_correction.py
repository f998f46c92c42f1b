"""Fixes, breaks, and what is kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rows import episode, trials

from groundwire.core._signals import Origin
from groundwire.evaluation._measuring import SELF, Flips, correction, decompose, rss


def test_the_worked_example_of_row_50() -> None:
    p = np.full(10, 0.6)
    told = decompose(p, p * 0.9, (1 - p) * 0.3)
    assert (told.acc1, told.cl, told.cs) == pytest.approx((0.6, 0.9, 0.3))
    assert (told.acc2, told.rss) == pytest.approx((0.66, 0.625))
    assert rss(1.0, 1.0) is None
    assert rss(0.0, 0.5) is None
    ones = np.ones(3)
    assert decompose(ones, ones, 0 * ones).cs is None
    assert decompose(ones, ones, 0 * ones).rss is None


@given(arrays(float, (3, 7), elements=st.floats(0, 1)))
def test_acc2_is_what_the_formula_says(drawn: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    p, b, c = drawn
    told = decompose(p, p * b, (1 - p) * c)
    if told.acc1 is None or told.acc2 is None:
        raise AssertionError("there were items")
    assert told.acc2 == pytest.approx(told.acc1 * (told.cl or 0) + (1 - told.acc1) * (told.cs or 0), abs=1e-9)


def test_an_episode_counts_from_its_first_try_to_its_answer() -> None:
    told = correction(
        trials(
            episode("fixed", "--+", hidden="?-+"),
            episode("broken", "-+", hidden="+-"),
            episode("kept", "+", hidden="+"),
            episode("lasting", "--"),
            episode("unknown", "-+", origin=Origin.MODEL_TESTS),
            episode("passing", "+", trial=0),
        )
    )
    assert (told.episodes, told.fixes, told.breaks) == (4, 1, 1)
    assert (told.false_passes, told.claimed) == (1, 3)
    assert (told.scores.acc1, told.scores.acc2) == (0.5, 0.5)
    assert (told.scores.cl, told.scores.cs, told.scores.rss) == (0.5, 0.5, 0.5)


def test_flips_are_split_by_what_opened_the_gate_and_by_round() -> None:
    """Rows 29 and 67."""
    told = correction(
        trials(
            episode("a", "-+"),
            episode("b", "+-", trigger=[None, None]),
            episode("c", "-+-", trigger=[None, Origin.OTHER_MODEL, Origin.OTHER_MODEL]),
            episode("d", "-+", trial=[0, 1]),
        )
    )
    assert told.by_origin == {SELF: Flips(0, 1, 1), "tests": Flips(1, 0, 1), "other_model": Flips(1, 1, 2)}
    assert told.by_round == {2: Flips(2, 1, 3), 3: Flips(0, 1, 1)}


def test_items_are_tasks_whatever_their_number_of_samples() -> None:
    """Five right samples of one task weigh as much as one wrong one of another."""
    seeds = [episode(f"a{at}", "+", task="a") for at in range(5)]
    told = correction(trials(*seeds, episode("b", "-+")))
    assert (told.scores.acc1, told.scores.acc2) == (0.5, 1.0)
    nothing = correction(trials())
    assert (nothing.episodes, nothing.scores.acc1) == (0, None)
