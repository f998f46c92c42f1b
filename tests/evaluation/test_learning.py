"""Curves of learning, on trials whose answer is known beforehand."""

from __future__ import annotations

import pytest
from rows import episode, trials

from groundwire.evaluation import Trials
from groundwire.evaluation._comparing import Answer
from groundwire.evaluation._learning import differences, learning_of, window_for
from groundwire.evaluation._rates import Rate


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
        assert one.answer is Answer.CANT_TELL and one.difference is None


def test_differences_are_paired_by_seed_and_fewer_trials_are_better() -> None:
    won, first, taken = differences(played(*["+"] * 8, "-+"), played(*["--"] * 8, "+", "+"), 2)
    assert [one.pairs for one in (won, first, taken)] == [9, 9, 9], "the last seed was played by one arm only"
    assert (won.memory, won.control, won.better, won.worse) == (1.0, pytest.approx(1 / 9), 8, 0)
    assert won.answer is Answer.HELPED
    assert (first.better, first.worse) == (8, 1)
    assert taken.difference == pytest.approx((8 * (1 - 3) + (2 - 1)) / 9) and (taken.better, taken.worse) == (8, 1)
    assert first.answer is taken.answer is Answer.HELPED
    back = differences(played(*["--"] * 8, "+"), played(*["+"] * 8, "-+"), 2)
    assert {one.answer for one in back} == {Answer.HURT}
    (only,) = differences(played("+"), played("-"), 1)
    assert only.what == "won" and only.answer is Answer.CANT_TELL, "one pair tells nothing"
