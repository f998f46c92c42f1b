"""Budgets hold whatever is asked for at once."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.completions import Completion
from groundwire.errors import BudgetExceeded
from groundwire.graphs.budget import Budget, Meter

calls = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 500)), max_size=30)


@given(calls, st.floats(0, 3), st.integers(0, 2000))
def test_calls_held_at_once_never_exceed_the_limits(wanted: list[tuple[float, int]], usd: float, tokens: int) -> None:
    meter = Meter(Budget(usd=usd, tokens=tokens))
    granted: list[tuple[float, int]] = []
    with ExitStack() as held:
        for price, size in wanted:
            try:
                held.enter_context(meter.reserve(price, size))
            except BudgetExceeded:
                continue
            granted.append((price, size))
        assert sum(p for p, _ in granted) <= usd + 1e-9
        assert sum(s for _, s in granted) <= tokens


@given(calls, st.floats(0.1, 3))
def test_settled_calls_count(wanted: list[tuple[float, int]], usd: float) -> None:
    meter = Meter(Budget(usd=usd))
    for price, size in wanted:
        try:
            with meter.reserve(price, size):
                meter.settle(Completion(texts=("x",), usd=price, completion_tokens=size))
        except BudgetExceeded:
            continue
    assert meter.usd <= usd + 1e-9


def test_an_unknown_price_fails_closed() -> None:
    with (
        pytest.raises(BudgetExceeded, match="price of this model is unknown") as caught,
        Meter(Budget(usd=1)).reserve(None, 1),
    ):
        pass
    assert caught.value.kind == "usd"
    with Meter(Budget()).reserve(None, 1) as held:
        assert held.usd == 0.0


def test_a_refused_call_holds_nothing() -> None:
    meter = Meter(Budget(tokens=10))
    with pytest.raises(BudgetExceeded), meter.reserve(0.0, 11):
        pass
    with meter.reserve(0.0, 10) as held:
        assert held.tokens == 10


def test_a_failed_call_is_released() -> None:
    meter = Meter(Budget(tokens=10))
    with pytest.raises(ValueError, match="boom"), meter.reserve(0.0, 10):
        raise ValueError("boom")
    with meter.reserve(0.0, 10):
        pass


def test_each_kind_is_named_when_it_is_used_up() -> None:
    now = [0.0]
    meter = Meter(Budget(trials=3, steps=2, seconds=5, usd=1, tokens=9), clock=lambda: now[0])
    assert meter.used_up(trial=2) == ""
    assert meter.used_up(trial=3) == "trials"
    assert meter.used_up(trial=0, step=2) == "steps"
    meter.book(usd=0.1, tokens=9)
    assert meter.used_up(trial=0) == "tokens"
    meter.book(usd=1.0, tokens=0)
    assert meter.used_up(trial=0) == "usd"
    now[0] = 5.0
    assert meter.used_up(trial=0) == "seconds"
    with pytest.raises(BudgetExceeded, match="5 s are used up"), meter.reserve(0.0, 0):
        pass
