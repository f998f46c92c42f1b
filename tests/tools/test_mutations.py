"""Changed values keep their type, and can be written down and read back."""

from __future__ import annotations

import ast
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.tools._visible_calls import mutated

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
KEYS = st.integers() | st.text(max_size=4)
VALUES = st.recursive(
    SCALARS | st.sets(KEYS, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.lists(inner, max_size=3).map(lambda items: tuple(items))
    ),
    max_leaves=8,
)


@given(VALUES, st.lists(VALUES, max_size=3), st.integers(0, 1000))
def test_the_type_stays_and_the_value_can_be_read_back(value: Any, donors: list[Any], seed: int) -> None:
    before = repr(value)
    changed = mutated(value, donors, random.Random(seed))
    assert type(changed) is type(value)
    assert repr(value) == before, "the value itself is left as it was"
    if "inf" not in repr(changed) and "set()" not in repr(changed):
        assert ast.literal_eval(repr(changed)) == changed


@pytest.mark.parametrize("value", [0, 7, 1.5, "ab", [1, 2], (1, 2), {1, 2}, {"a": 1}, True])
def test_most_changes_change_something(value: Any) -> None:
    source = random.Random(1)
    different = sum(mutated(value, [], source) != value for _ in range(100))
    assert different > 40


def test_unknown_types_stay() -> None:
    assert mutated(None, [1], random.Random(0)) is None
    assert mutated(b"a", [b"b"], random.Random(0)) == b"a"


def test_a_donor_of_the_same_type_is_taken_now_and_then() -> None:
    source = random.Random(2)
    made = [mutated(5, ["text", 987654, 5], source) for _ in range(200)]
    assert 5 < made.count(987654) < 60


def test_a_set_takes_only_what_has_a_hash() -> None:
    assert {frozenset(mutated(set[Any](), [[([],)]], random.Random(seed))) for seed in range(50)} == {frozenset()}
