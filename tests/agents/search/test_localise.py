"""The formulas against values computed by hand from the papers' definitions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.agents.search._localise import Counts, counts, dstar, ochiai, suspiciousness

COUNTS = st.builds(Counts, st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))


@pytest.mark.parametrize(
    ("c", "expected"),
    [
        # Abreu et al. 2007: a11 / sqrt((a11 + a01) * (a11 + a10))
        (Counts(2, 0, 0), 1.0),
        (Counts(1, 1, 0), 1 / math.sqrt(2)),
        (Counts(2, 1, 3), 2 / math.sqrt(15)),
        (Counts(0, 3, 4), 0.0),
        (Counts(0, 0, 0), 0.0),
    ],
)
def test_ochiai(c: Counts, expected: float) -> None:
    assert ochiai(c) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("c", "star", "expected"),
    [
        # Wong et al. 2014: a_ef ** star / (a_ep + a_nf)
        (Counts(2, 1, 3), 2, 1.0),
        (Counts(3, 1, 1), 2, 4.5),
        (Counts(3, 1, 1), 3, 13.5),
        (Counts(0, 2, 2), 2, 0.0),
        (Counts(2, 0, 0), 2, math.inf),
        (Counts(0, 0, 0), 2, 0.0),
    ],
)
def test_dstar(c: Counts, star: int, expected: float) -> None:
    assert dstar(c, star) == expected


def test_counts_by_hand() -> None:
    coverage = {
        "": {"m.py": (1,)},
        "a": {"m.py": (2, 3, 4)},
        "b": {"m.py": (2, 3), "n.py": (9,)},
        "c": {"m.py": (2, 5, 5)},
        "skipped": {"m.py": (2, 3, 4, 5)},
    }
    assert counts(coverage, {"a", "b"}, {"c"}) == {
        ("m.py", 1): Counts(2, 0, 1),
        ("m.py", 2): Counts(2, 0, 1),
        ("m.py", 3): Counts(2, 0, 0),
        ("m.py", 4): Counts(1, 1, 0),
        ("n.py", 9): Counts(1, 1, 0),
    }


def test_a_failing_case_without_lines_counts_for_nothing() -> None:
    assert counts({"b": {"m.py": (1,)}}, {"a"}, {"b"}) == {}


def test_suspiciousness_is_scaled_and_keeps_the_order() -> None:
    table = {("m", 1): Counts(2, 0, 2), ("m", 2): Counts(2, 0, 0), ("m", 3): Counts(1, 1, 0)}
    by_ochiai = suspiciousness(table)
    assert by_ochiai[("m", 2)] == 1.0
    assert by_ochiai[("m", 1)] == by_ochiai[("m", 3)] == pytest.approx(1 / math.sqrt(2))
    by_dstar = suspiciousness(table, dstar)
    assert by_dstar == {("m", 1): pytest.approx(0.9), ("m", 2): 1.0, ("m", 3): pytest.approx(0.45)}
    assert suspiciousness({}) == {}


@given(COUNTS)
def test_both_stay_in_their_range(c: Counts) -> None:
    assert 0.0 <= ochiai(c) <= 1.0 + 1e-9
    assert dstar(c) >= 0.0


@given(COUNTS)
def test_more_passing_runs_never_make_a_line_more_suspicious(c: Counts) -> None:
    more = Counts(c.failed_ran, c.failed_not, c.passed_ran + 1)
    assert ochiai(more) <= ochiai(c)
    assert dstar(more) <= dstar(c)


@given(st.dictionaries(st.tuples(st.just("m"), st.integers(1, 9)), COUNTS), st.sampled_from([ochiai, dstar]))
def test_scaled_values_lie_between_0_and_1(table: dict[tuple[str, int], Counts], formula: object) -> None:
    found = suspiciousness(table, formula)  # pyright: ignore[reportArgumentType]  # sampled_from loses the type
    assert all(0.0 <= value <= 1.0 for value in found.values())
