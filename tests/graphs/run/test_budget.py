"""Budgets hold whatever is asked for at once, in an episode and in all episodes of a run together."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._errors import BudgetExceeded
from groundwire.core._models import Completion
from groundwire.graphs.run._budget import Budget, Cost, Meter, RunBudget, RunMeter

prices = st.floats(0, 1)
sizes = st.integers(0, 500)
calls = st.lists(st.tuples(prices, sizes), max_size=30)
ends = st.sampled_from(["settled", "unreadable", "refused", "cancelled"])
SLACK = 1e-9
"""US dollars that sums of floats may be off."""


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
        assert sum(p for p, _ in granted) <= usd + SLACK
        assert sum(s for _, s in granted) <= tokens


@given(
    st.lists(st.tuples(st.integers(0, 3), prices, sizes, ends, st.floats(0, 1), st.booleans()), max_size=40),
    st.floats(0, 4),
    st.integers(0, 3000),
    st.integers(0, 20),
)
def test_episodes_that_run_at_once_never_overspend_together(
    steps: list[tuple[int, float, int, str, float, bool]], usd: float, tokens: int, most: int
) -> None:
    """Four episodes, calls that begin and end in any order and in any way, real costs anywhere below what was held."""
    run = RunMeter(RunBudget(usd=usd, tokens=tokens, calls=most))
    meters = [Meter(Budget(usd=1.5, calls=7), run) for _ in range(4)]
    under_way: list[tuple[ExitStack, float, int]] = []
    real: list[Cost] = [Cost() for _ in meters]
    for index, price, size, end, share, waits in steps:
        stack = ExitStack()
        try:
            held = stack.enter_context(meters[index].reserve(price, size))
        except BudgetExceeded:
            continue
        if end == "settled":
            held.settle(Completion(texts=("x",), usd=price * share, completion_tokens=int(size * share)))
        elif end == "unreadable":
            held.spend_all()
        under_way.append((stack, price, size))
        spent = sum((meter.used for meter in meters), Cost())
        assert spent.usd + sum(p for _, p, _ in under_way) <= usd + SLACK
        assert spent.tokens + sum(s for _, _, s in under_way) <= tokens
        assert spent.calls + len(under_way) <= most
        if waits:
            continue
        stack, price, size = under_way.pop(0)
        if end == "cancelled":
            with pytest.raises(asyncio.CancelledError), stack:
                raise asyncio.CancelledError
        else:
            stack.close()
    for stack, _, _ in under_way:
        stack.close()
    real = [meter.used for meter in meters]
    assert all(cost.usd <= 1.5 + SLACK and cost.calls <= 7 for cost in real)
    together = run.account.used
    assert together.usd == pytest.approx(sum(cost.usd for cost in real))
    assert (together.tokens, together.calls) == (sum(c.tokens for c in real), sum(c.calls for c in real))
    # nothing is left held: what is left is the ceiling without what was used, to the last bit
    assert run.account.left("usd") == max(0, usd - together.usd)


@given(calls, st.floats(0.1, 3))
def test_settled_calls_count(wanted: list[tuple[float, int]], usd: float) -> None:
    meter = Meter(Budget(usd=usd))
    for price, size in wanted:
        try:
            with meter.reserve(price, size) as held:
                held.settle(Completion(texts=("x",), usd=price, completion_tokens=size))
        except BudgetExceeded:
            continue
    assert meter.used.usd <= usd + SLACK


@pytest.mark.parametrize("limited", ["episode", "run"])
def test_an_unknown_price_fails_closed(limited: str) -> None:
    run = RunMeter(RunBudget(usd=1 if limited == "run" else None))
    meter = Meter(Budget(usd=1 if limited == "episode" else None), run)
    with pytest.raises(BudgetExceeded, match="price of this model is unknown") as caught, meter.reserve(None, 1):
        pass
    assert caught.value.kind == "usd"
    with Meter(Budget()).reserve(None, 1) as held:
        assert held.most == Cost(0.0, 1, calls=1)


def test_a_refused_call_holds_nothing_anywhere() -> None:
    run = RunMeter(RunBudget(tokens=10))
    meter = Meter(Budget(tokens=100), run)
    with pytest.raises(BudgetExceeded) as caught, meter.reserve(0.0, 11):
        pass
    assert caught.value.kind == "run"
    assert caught.value.what == "The next step may use 11 tokens; 10 tokens of the run's 10 tokens are left."
    with meter.reserve(0.0, 10) as held:
        assert held.most.tokens == 10


def test_a_failed_call_is_a_call_and_no_more() -> None:
    meter = Meter(Budget(tokens=10))
    with pytest.raises(ValueError, match="boom"), meter.reserve(0.0, 10):
        raise ValueError("boom")
    assert meter.used == Cost(calls=1)
    with meter.reserve(0.0, 10):
        pass


def test_a_cancelled_call_may_have_been_paid_for() -> None:
    meter = Meter(Budget())
    with pytest.raises(asyncio.CancelledError), meter.reserve(0.25, 10):
        raise asyncio.CancelledError
    assert meter.used == Cost(0.25, 10, calls=1)


def test_each_kind_is_named_when_it_is_used_up() -> None:
    now = [0.0]
    meter = Meter(Budget(trials=3, steps=2, seconds=5, usd=1, tokens=9, calls=4), clock=lambda: now[0])
    assert meter.used_up(trial=2) == ""
    assert meter.used_up(trial=3) == "trials"
    assert meter.used_up(trial=0, step=2) == "steps"
    meter.book(Cost(calls=4))
    assert meter.used_up(trial=0) == "calls"
    meter.book(Cost(0.1, 9))
    assert meter.used_up(trial=0) == "tokens"
    meter.book(Cost(1.0))
    assert meter.used_up(trial=0) == "usd"
    now[0] = 5.0
    assert meter.used_up(trial=0) == "seconds"
    with pytest.raises(BudgetExceeded, match="5 s are used up"), meter.reserve(0.0, 0):
        pass


def test_the_run_is_named_when_it_has_used_up_its_own() -> None:
    now = [0.0]
    run = RunMeter(RunBudget(trials=2, seconds=9), clock=lambda: now[0])
    first, second = Meter(Budget(), run), Meter(Budget(seconds=30), run)
    first.begin_trial()
    second.begin_trial()
    assert first.used_up(trial=1) == "run"
    # a step within the trial that was counted is none
    assert first.used_up(trial=-1, step=1) == ""
    with pytest.raises(BudgetExceeded, match=r"1 trials; 0 trials of the run's 2 trials") as caught:
        first.begin_trial()
    assert caught.value.kind == "run"
    assert second.seconds_left() == 9
    now[0] = 9.0
    assert (second.seconds_left(), second.used_up(trial=-1)) == (0.0, "run")
    assert second.out_of_time().what == "The run's 9 s are used up."


def test_an_actor_without_a_model_is_not_stopped_by_a_model_s_budget() -> None:
    assert Meter(Budget(usd=0, tokens=0, calls=0)).used_up(trial=1) == ""
