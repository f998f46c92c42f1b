"""What memory wrote and gave, what it cost, and where it came from."""

from __future__ import annotations

import pytest
from rows import episode, trials

from groundwire.core._signals import Origin
from groundwire.evaluation._learning import memory_effect
from groundwire.evaluation._process import cost
from groundwire.evaluation._rates import Rate
from groundwire.evaluation._signal_quality import provenance


def test_first_tries_with_and_without_lessons() -> None:
    told = memory_effect(
        trials(
            episode("a1", "-+", task="a", reflections=[1, 0], lessons=[0, 1]),
            episode("b1", "-", task="b", trigger=[Origin.HUMAN]),
            episode("a2", "+", task="a", lessons=[2]),
            episode("a3", "+", task="a", lessons=[2]),
        )
    )
    assert (told.written, told.read, told.hits) == (1, 5, Rate(3, 5))
    assert (told.with_lessons, told.without_lessons) == (Rate(2, 2), Rate(0, 2))
    assert told.by_visit == [Rate(0, 2), Rate(1, 1), Rate(1, 1)]
    assert told.interventions == [0.5, 0, 0], "row 90: interventions per task fall"
    nothing = memory_effect(trials())
    assert (nothing.hits.value, nothing.by_visit) == (None, [])


def test_a_success_costs_what_failures_cost_too() -> None:
    told = cost(
        trials(
            episode("a", "-+", tokens=[100, 50], critical_tokens=[60, 50], usd=[0.25, 0.25], calls=1, seconds=2.0),
            episode("b", "-", tokens=50, usd=[0.5], judgings=3),
            episode("c", "+", trial=0),
        )
    )
    assert (told.tokens, told.critical_tokens, told.calls, told.judgings, told.successes) == (200, 110, 2, 3, 1)
    assert (told.tokens_per_success, told.usd_per_success, told.seconds_per_success) == (200, 1.0, 4.0)
    assert told.tokens_per_second == 50
    unpriced = cost(trials(episode("a", "+", usd=[None])))
    assert (unpriced.unpriced, unpriced.usd_per_success, unpriced.usd) == (1, None, 0.0)
    assert cost(trials(episode("a", "-", tokens=5))).tokens_per_success is None


def test_what_stood_behind_each_refinement() -> None:
    told = provenance(
        trials(
            episode("a", "--+", trigger=[None, Origin.TESTS, Origin.MODEL_TESTS], oracle=[False, True, False]),
            episode("b", "-+", trigger=[Origin.TESTS, None]),
        )
    )
    assert told.triggers == {"tests": Rate(2, 3), "model_tests": Rate(1, 3)}
    assert (told.ungrounded, told.oracle) == (Rate(1, 3), Rate(1, 5))
    assert told.judged == {"tests": 5}
    assert provenance(trials()).ungrounded.value is None


def test_shares_sum_to_one() -> None:
    told = provenance(trials(episode("a", "----", trigger=[None, Origin.TESTS, Origin.EXECUTION, Origin.TESTS])))
    assert sum(r.value or 0 for r in told.triggers.values()) == pytest.approx(1)
