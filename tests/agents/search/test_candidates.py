"""The order of edits and what memory does to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.agents.search._candidates import (
    CREDIT,
    DEFAULT_PRIOR,
    LEAST_FACTOR,
    MOST_FACTOR,
    PRIORS,
    factors,
    mixed,
    score,
    tie_break,
)
from groundwire.agents.search._source import Proposal, RankedEdit, Replacement
from groundwire.core._contexts import EditStatistics

EDIT = Proposal("compare.boundary", (Replacement(3, 4, "<="),), 0.5)


def test_score_is_a_product() -> None:
    size = 0.99 ** (2 / 4)
    assert score(EDIT, 0.8, {}) == pytest.approx(0.8 * PRIORS["compare.boundary"] * 0.5 * size)
    assert score(EDIT, 0.8, {"compare.boundary": 2.0}) == pytest.approx(2 * score(EDIT, 0.8, {}))
    assert score(Proposal("new.kind", (Replacement(0, 0, ""),)), 1.0, {}) == DEFAULT_PRIOR


def test_smaller_edits_come_first() -> None:
    longer = Proposal("compare.boundary", (Replacement(3, 4, "<=" * 20),), 0.5)
    assert score(longer, 1.0, {}) < score(EDIT, 1.0, {})


def test_without_a_memory_nothing_changes() -> None:
    assert factors(EditStatistics()) == {}
    assert factors(EditStatistics(overall={"bad": (400, 0)})) == {}, "without a pass there is no rate to compare with"


def test_a_circle_by_hand() -> None:
    found = factors(EditStatistics(overall={"good": (100, 10), "bad": (900, 0), "none": (0, 0)}))
    # one in a hundred passed: one pass of "good" and nine of "bad" were to be expected
    assert found["good"] == pytest.approx((10 + CREDIT) / (1 + CREDIT))
    assert found["bad"] == pytest.approx(CREDIT / (9 + CREDIT))
    assert found["none"] == 1.0


def test_a_narrow_circle_starts_from_the_wider_one() -> None:
    wide = {"a": (100, 10), "b": (900, 0)}
    family = factors(EditStatistics(family=wide, overall=wide))
    assert family == factors(EditStatistics(overall=wide)), "what the family has counted is not counted again"
    alike = {"a": (50, 0), "b": (50, 1)}
    both = factors(EditStatistics(alike=alike, family={n: (u + 50, p + (n == "b")) for n, (u, p) in wide.items()}))
    assert both["a"] == pytest.approx((0 + CREDIT * family["a"]) / (0.5 + CREDIT))
    assert both["b"] == pytest.approx((1 + CREDIT * family["b"]) / (0.5 + CREDIT))


def test_the_narrow_circle_counts_the_more_the_more_it_has_seen() -> None:
    overall = {"a": (10_000, 0), "b": (10_000, 200)}
    seen = [
        factors(EditStatistics(alike={"a": (10 * n, n), "b": (10 * n, 0)}, overall=overall))["a"]
        for n in (0, 1, 10, 100)
    ]
    assert seen == sorted(seen)
    assert seen[0] == LEAST_FACTOR
    assert seen[-1] > 1.5


def test_one_lucky_edit_changes_little() -> None:
    found = factors(EditStatistics(overall={"lucky": (1, 1), "rest": (999, 9)}))
    assert 1.0 < found["lucky"] < 1.1


COUNTS = st.dictionaries(st.text(max_size=4), st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), max_size=6)


@given(COUNTS, COUNTS, COUNTS)
def test_factors_are_bounded(alike: Any, family: Any, overall: Any) -> None:
    usable = [{name: (max(pair), min(pair)) for name, pair in circle.items()} for circle in (alike, family, overall)]
    found = factors(EditStatistics(*usable))
    assert all(LEAST_FACTOR <= value <= MOST_FACTOR for value in found.values())
    assert found.keys() <= {name for circle in usable for name in circle}


def test_ties_are_broken_by_place_or_by_seed() -> None:
    other = Proposal("compare.boundary", (Replacement(9, 10, "<="),))
    assert tie_break(EDIT, "m.py", 0) < tie_break(other, "m.py", 0)
    orders = {tie_break(EDIT, "m.py", seed) < tie_break(other, "m.py", seed) for seed in range(1, 30)}
    assert orders == {True, False}
    assert tie_break(EDIT, "m.py", 5) == tie_break(EDIT, "m.py", 5)


def test_many_edits_of_one_operator_make_room_for_others() -> None:
    crowd = [
        RankedEdit("m.py", Proposal("name.swap", (Replacement(n, n + 1, "b"),)), 1, 0.5 - n / 1000) for n in range(40)
    ]
    rare = RankedEdit("m.py", Proposal("fallback.get", (Replacement(50, 51, "c"),)), 1, 0.4)
    edits = sorted([*crowd, rare], key=lambda edit: -edit.score)
    found = sorted(mixed(edits), key=lambda edit: -edit.score)
    assert {edit.proposal for edit in found} == {edit.proposal for edit in edits}
    assert found[0] == edits[0], "the first of a kind is as likely as it was"
    assert [e.name for e in edits].index("fallback.get") == 40
    assert [e.name for e in found].index("fallback.get") < 30


def test_further_edits_of_one_place_are_less_likely() -> None:
    edits = [RankedEdit("m.py", Proposal("name.swap", (Replacement(0, 1, t),)), 1, 0.5) for t in "bcd"]
    scores = [edit.score for edit in mixed(edits)]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3
