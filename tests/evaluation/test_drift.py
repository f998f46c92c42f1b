"""What becomes of feedback."""

from __future__ import annotations

from rows import episode, trials

from groundwire.core._signals import Origin
from groundwire.evaluation import TrialStep
from groundwire.evaluation._drift import Friction, avalanche, uptake
from groundwire.evaluation._rates import Rate


def test_a_stubborn_solver_and_one_that_listens() -> None:
    """Row 53: friction share 1.0 without the remedy, below 1 with it."""
    stubborn = uptake(trials(episode("a", "---", candidate=["B", "B", "B"], signature="wrong letter")))
    assert (stubborn.repeats, stubborn.friction_share) == (Rate(2, 2), 1.0)
    listening = uptake(
        trials(
            episode("a", "---", candidate=["B", "B", "C"], signature=["x", "x", "y"]),
            episode("b", "--", candidate=["B", "C"], signature=["x", "y"], escalation=[0, 1]),
        )
    )
    assert (listening.repeats, listening.stuck) == (Rate(1, 3), Rate(1, 3))
    assert listening.friction == {Friction.NOT_FOLLOWED: 1, Friction.TOO_HARD: 1}
    assert listening.friction_share == 0.5


def test_walks_whose_candidates_name_their_trial_are_not_called_new() -> None:
    walks = uptake(trials(episode("a", "---", origin=Origin.ENVIRONMENT)))
    assert walks.repeats == Rate(0, 0)


def test_the_avalanche_is_seen_where_all_is_accepted_from_the_start() -> None:
    assert avalanche([0.9, 0.7, 0.5], [1.0, 1.0, 1.0]) == 3
    assert avalanche([0.9, 0.7, 0.5], [0.5, 0.6, 0.7]) == 3
    assert avalanche([0.9, 0.7, 0.5], [0.5, 0.4, 0.3]) is None, "the filter takes less"
    assert avalanche([0.9, 0.7, 0.5], [0.0, 0.0, 0.0]) is None, "nothing is taken"
    assert avalanche([0.9, 0.7, 0.8, 0.7], [1.0] * 4) is None, "one fall may be chance"


def test_causes_are_told_apart() -> None:
    told = uptake(
        trials(
            episode("a", "--", hidden="+-", signature="x"),
            episode("b", "-", signature="x"),
            episode("c", "-?", calls=1, judgings=[1, 0]),
            episode("d", "-+", signature="x"),
        )
    )
    assert told.friction == {Friction.FEEDBACK_WRONG: 1, Friction.UNKNOWN: 1, Friction.FORMAT: 1}
    assert uptake(trials()).friction_share is None


def test_the_same_call_after_an_error_is_counted() -> None:
    """Row 76: an identical re-call is a `degenerate_repeat`."""
    steps = (TrialStep("ls", ok=False), TrialStep("ls", ok=False), TrialStep("pwd", ok=True), TrialStep("ls", ok=False))
    told = uptake(trials(episode("a", "-", steps=steps), episode("b", "+", steps=(TrialStep("ls", ok=True),))))
    assert (told.recalls, told.recoveries) == (Rate(1, 2), Rate(1, 2))
