"""The order of edits and what memory does to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.agents.search.edits import Proposal, Splice
from groundwire.agents.search.priors import DEFAULT_PRIOR, PRIORS
from groundwire.agents.search.rank import LEAST_FACTOR, MOST_FACTOR, factors, score, tie_break

EDIT = Proposal("compare.boundary", (Splice(3, 4, "<="),), 0.5)


def test_score_is_a_product() -> None:
    size = 0.99 ** (2 / 4)
    assert score(EDIT, 0.8, {}) == pytest.approx(0.8 * PRIORS["compare.boundary"] * 0.5 * size)
    assert score(EDIT, 0.8, {"compare.boundary": 2.0}) == pytest.approx(2 * score(EDIT, 0.8, {}))
    assert score(Proposal("new.kind", (Splice(0, 0, ""),)), 1.0, {}) == DEFAULT_PRIOR


def test_smaller_edits_come_first() -> None:
    longer = Proposal("compare.boundary", (Splice(3, 4, "<=" * 20),), 0.5)
    assert score(longer, 1.0, {}) < score(EDIT, 1.0, {})


def test_without_a_memory_nothing_changes() -> None:
    assert factors({}) == {}


def test_what_paid_is_raised_and_what_did_not_is_lowered() -> None:
    found = factors({"good": (100, 10), "bad": (400, 0), "mean": (100, 2), "new": (1, 0)})
    assert found["good"] > 2.5
    assert found["bad"] < 0.3
    assert 0.9 < found["mean"] < 1.1
    assert found["good"] > found["mean"] > found["bad"]
    assert 0.9 < found["new"] <= 1.0


def test_one_lucky_edit_changes_little() -> None:
    found = factors({"lucky": (1, 1), "rest": (999, 9)})
    assert 1.0 < found["lucky"] < 2.0


@given(st.dictionaries(st.text(max_size=4), st.tuples(st.integers(0, 10**6), st.integers(0, 10**6))))
def test_factors_are_bounded(statistics: dict[str, tuple[int, int]]) -> None:
    usable = {name: (max(pair), min(pair)) for name, pair in statistics.items()}
    assert all(LEAST_FACTOR <= value <= MOST_FACTOR for value in factors(usable).values())


def test_ties_are_broken_by_place_or_by_seed() -> None:
    other = Proposal("compare.boundary", (Splice(9, 10, "<="),))
    assert tie_break(EDIT, "m.py", 0) < tie_break(other, "m.py", 0)
    orders = {tie_break(EDIT, "m.py", seed) < tie_break(other, "m.py", seed) for seed in range(1, 30)}
    assert orders == {True, False}
    assert tie_break(EDIT, "m.py", 5) == tie_break(EDIT, "m.py", 5)
