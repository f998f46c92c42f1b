"""Votes: plurality, large and short groups, weights (methods rows 14 and 37)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.agents.width._voting import majority, shortest_majority, weighted


def test_plurality_counts_what_was_answered_and_says_where_it_was_a_tie() -> None:
    vote = majority(["A", "A", "B", None])
    assert (vote.ranking, vote.share, vote.tie, vote.counted) == (("A", "B"), 2 / 3, False, 3)
    tie = majority(["B", "A", "A", "B"])
    assert tie.ranking == ("B", "A") and tie.tie and "tie" in str(tie)
    assert majority([None]).ranking == () and majority([]).share == 0


@pytest.mark.parametrize(("short", "winner"), [(800, "short"), (1000, "long")])
def test_a_large_and_long_group_loses_to_a_short_one_by_the_documented_score(short: int, winner: str) -> None:
    keys = ["long"] * 4 + ["short"] * 3
    assert shortest_majority(keys, [9000] * 4 + [short] * 3).ranking[0] == winner


@given(st.lists(st.sampled_from("abc"), min_size=1), st.integers(1, 10**6))
def test_at_one_length_shortest_majority_is_plain_majority(keys: list[str], length: int) -> None:
    assert shortest_majority(keys, [length] * len(keys)).ranking == majority(keys).ranking


def test_weights_decide() -> None:
    vote = weighted(["A", "B", "B"], [0.8, 0.3, 0.1])
    assert vote.ranking[0] == "A" and vote.share == pytest.approx(2 / 3)
