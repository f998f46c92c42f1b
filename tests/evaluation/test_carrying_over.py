"""Trials to success on tasks that were never seen, after k episodes of their family."""

from __future__ import annotations

from rows import episode, trials

from groundwire.evaluation._learning import carried_over
from groundwire.evaluation._rates import Rate


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
    assert (told[2].low, told[2].high) == (1.0, 2.0)


def test_nothing_says_nothing() -> None:
    assert carried_over(trials(), 3) == []
