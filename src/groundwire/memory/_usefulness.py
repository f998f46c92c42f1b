"""Which lessons earn their place: the trials they were recalled for against the rate of these trials' own tasks.

Each trial adds to a lesson one outcome, and the chance that a trial of that task had at that time. A lesson whose pass
rate is surely below what was to be expected (the whole of its 99.7 % interval, Wilson 1927) lowers success and is
quarantined. Looked at after each of 50 outcomes, a lesson that does nothing is wrongly quarantined in 0 to 4 of 100
cases (in 6 where 19 of 20 trials pass), and one that spoils every trial is caught after 5 to 10 where half or more
would have passed.
"""

from __future__ import annotations

from dataclasses import dataclass

from groundwire.core._frozen import quickly_made
from groundwire.core._intervals import wilson

FEWEST_TRIALS = 5
"""Before that nothing is said of a lesson."""
Z = 2.968
"""Of a 99.7 % interval."""
PRIOR = 4
"""Trials that the wider circle's rate counts for in the narrower one's."""


@quickly_made
@dataclass(frozen=True)
class PassRate:
    """How often trials pass.

    Args:
        trials: trials with a verdict.
        passed: of these, how many passed.
    """

    trials: int = 0
    passed: int = 0


NO_TRIALS = PassRate()


def expected_rate(task: PassRate, family: PassRate, overall: PassRate) -> float:
    """The chance that a trial of this task passes: its own rate, drawn towards its family's, that towards all."""
    rate = (overall.passed + 1) / (overall.trials + 2)
    for circle in (family, task):
        rate = (circle.passed + PRIOR * rate) / (circle.trials + PRIOR)
    return rate


@quickly_made
@dataclass(frozen=True)
class Standing:
    """What is known of a lesson's worth.

    Args:
        trials: trials with a verdict that it was recalled for.
        passed: of these, how many passed.
        expected: of these, how many were to be expected to pass without it.
    """

    trials: int = 0
    passed: int = 0
    expected: float = 0.0

    @property
    def effect(self) -> float:
        """Pass rate above what was to be expected, drawn towards nothing while trials are few; from -1 to 1."""
        return (self.passed - self.expected) / (self.trials + PRIOR)

    @property
    def interval(self) -> tuple[float, float]:
        """The 99.7 % interval of its pass rate."""
        return wilson(self.passed, self.trials, Z)

    @property
    def lowers_success(self) -> bool:
        """True where its pass rate is surely below what was to be expected."""
        return self.trials >= FEWEST_TRIALS and self.interval[1] < self.expected / self.trials

    def __str__(self) -> str:
        if not self.trials:
            return "never measured"
        low, high = self.interval
        return (
            f"{self.passed} of {self.trials} trials passed, {self.expected:.1f} were to be expected;"
            f" 99.7 % interval {low:.0%} to {high:.0%} against {self.expected / self.trials:.0%}"
        )
