"""Curves of learning, on trials whose answer is known beforehand."""

from __future__ import annotations

import pytest
from rows import episode, trials

from groundwire.core._signals import Origin
from groundwire.evaluation import Trials
from groundwire.evaluation._comparing import Conclusion
from groundwire.evaluation._learning import carried_over, differences, learning_of, memory_effect, window_for
from groundwire.evaluation._process import cost
from groundwire.evaluation._rates import Rate
from groundwire.evaluation._signal_quality import provenance


def played(*verdicts: str) -> Trials:
    """Episodes of seeds 10, 11, …, handed over in the wrong order."""
    rows = [episode(f"e{at}", said, task=f"w-{10 + at}", seed=10 + at) for at, said in enumerate(verdicts)]
    return trials(*reversed(rows))


def test_curves_follow_the_seeds_and_an_episode_that_was_not_won_has_one_trial_more() -> None:
    told = learning_of(played("--+", "---", "-?", "+", "+"), 3, window=2)
    assert told.seeds == [10, 11, 12, 13, 14] and told.to_success == [3, 4, 4, 1, 1]
    assert told.by_trial == [Rate(2, 5), Rate(2, 5), Rate(3, 5)]
    assert told.first_tries == [Rate(0, 1), Rate(0, 2), Rate(0, 2), Rate(1, 2), Rate(2, 2)]
    (stretch,) = told.stretches
    assert (stretch.after, stretch.until, stretch.mean) == (0, None, pytest.approx(2.6))
    assert stretch.low is not None and stretch.high is not None
    assert 1 <= stretch.low <= 2.6 <= stretch.high <= 4


def test_stretches_cover_every_episode_once_in_the_order_of_play() -> None:
    told = learning_of(played(*["+"] * 14, *["-"] * 13), 1)
    assert told.window == window_for(27) == 5
    assert [(one.after, one.until) for one in told.stretches] == [(0, 4), (5, 10), (11, 15), (16, 21), (22, None)]
    assert sum(one.solved.whole for one in told.stretches) == 27
    assert told.stretches[0].mean == 2 and told.stretches[-1].mean == 1


def test_nothing_played_is_nothing_claimed() -> None:
    empty = learning_of(trials(), 2)
    assert (empty.episodes, list(empty.first_tries), list(empty.stretches)) == (0, [], [])
    for one in differences(trials(), trials(), 2):
        assert one.answer is Conclusion.CANT_TELL and one.difference is None


def test_differences_are_paired_by_seed_and_fewer_trials_are_better() -> None:
    won, first, taken = differences(played(*["+"] * 8, "-+"), played(*["--"] * 8, "+", "+"), 2)
    assert [one.pairs for one in (won, first, taken)] == [9, 9, 9], "the last seed was played by one arm only"
    assert (won.memory, won.control, won.better, won.worse) == (1.0, pytest.approx(1 / 9), 8, 0)
    assert won.answer is Conclusion.HELPED
    assert (first.better, first.worse) == (8, 1)
    assert taken.difference == pytest.approx((8 * (1 - 3) + (2 - 1)) / 9) and (taken.better, taken.worse) == (8, 1)
    assert first.answer is taken.answer is Conclusion.HELPED
    back = differences(played(*["--"] * 8, "+"), played(*["+"] * 8, "-+"), 2)
    assert {one.answer for one in back} == {Conclusion.HURT}
    (only,) = differences(played("+"), played("-"), 1)
    assert only.what == "won" and only.answer is Conclusion.CANT_TELL, "one pair tells nothing"


# Trials to success on tasks that were never seen, after k episodes of their family.


def test_only_unseen_tasks_count_and_those_that_were_not_solved_are_no_gift() -> None:
    told = carried_over(
        trials(
            episode("e0", "---", task="a", family="maze"),
            episode("e1", "--+", task="b", family="maze"),
            episode("e2", "+", task="a", family="maze"),  # seen before: no evidence that anything carries over
            episode("e3", "-+", task="c", family="maze"),
            episode("e4", "-", task="x", family="lake"),
            episode("e5", "+", task="d", family="maze"),
            episode("e6", "+", task="e", family="maze", trial=0),  # nothing to solve
        ),
        3,
        after=(0, 1, 3),
    )
    assert [(c.after, c.until, c.solved, c.mean) for c in told] == [
        (0, 0, Rate(0, 2), 4.0),
        (1, 2, Rate(1, 1), 3.0),
        (3, None, Rate(2, 2), 1.5),
    ]
    assert (told[2].low, told[2].high) == (1.0, 4.0), "two tasks tell nothing"
    assert (told[1].low, told[1].high) == (None, None)


def test_nothing_says_nothing() -> None:
    assert carried_over(trials(), 3) == []


# What memory wrote and gave, what it cost, and where it came from.


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
