"""What was used, and what is held for what is under way: concurrent calls can't overspend together.

A call is reserved at the most that it can cost, in its episode's account and in its run's, and settled at what it did
cost. Where one of the accounts has too little left, nothing is held anywhere and nothing is sent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from groundwire.completions import Completion
from groundwire.errors import BudgetExceeded, Usage
from groundwire.graphs.accounts import KINDS, Account, Cost
from groundwire.graphs.budget import Budget, Kind, RunBudget

__all__ = ["Meter", "Reservation", "RunMeter"]


@dataclass
class Reservation:
    """What one call may cost at most, and then what it did cost."""

    most: Cost
    spent: Cost = field(default_factory=lambda: Cost(calls=1))
    """A call whose price nobody tells counts as a call that cost nothing else."""

    def settle(self, used: Completion | Usage) -> None:
        """It was answered, or failed, and this is what it used."""
        self.spent = Cost(used.usd or 0.0, used.prompt_tokens + used.completion_tokens, calls=1)

    def spend_all(self) -> None:
        """It may have been paid for, and nobody can say how much it was."""
        self.spent = self.most


class RunMeter:
    """What all episodes of a run have used.

    Args:
        budget: the ceilings.
        used: what earlier processes used in this run.
        clock: seconds, monotone.
    """

    def __init__(
        self, budget: RunBudget, used: Cost | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.budget = budget
        self.account = Account(budget.ceilings, "the run")
        self.account.book(used or Cost())
        self._clock = clock
        self._start = clock()

    def used_up(self, *, trials: bool = True) -> str:
        """The kind of which nothing is left for another try, or "".

        Args:
            trials: False where the try begins no trial.
        """
        if self.seconds_left() == 0:
            return "seconds"
        counted: list[Kind] = [kind for kind in KINDS if trials or kind != "trials"]
        return next((kind for kind in counted if self.account.used_up(kind)), "")

    def seconds_left(self) -> float | None:
        """Wall seconds left, or None without a ceiling."""
        ceiling = self.budget.seconds
        return None if ceiling is None else max(0.0, ceiling - (self._clock() - self._start))


class Meter:
    """What an episode has used; it may use no more than its run has left.

    Args:
        budget: the episode's ceilings.
        run: the run's meter, shared by its episodes.
        clock: seconds, monotone.
    """

    def __init__(
        self, budget: Budget, run: RunMeter | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.budget = budget
        self._run = run or RunMeter(RunBudget())
        self._mine = Account(budget.ceilings, "the episode")
        self._clock = clock
        self._start = clock()

    @property
    def used(self) -> Cost:
        """What this episode has used."""
        return self._mine.used

    @property
    def seconds(self) -> float:
        """Wall seconds since the episode began (or was resumed)."""
        return self._clock() - self._start

    def seconds_left(self) -> float | None:
        """Wall seconds left to the episode or to its run, whichever is less; None without a ceiling."""
        own = None if self.budget.seconds is None else max(0.0, self.budget.seconds - self.seconds)
        return min((left for left in (own, self._run.seconds_left()) if left is not None), default=None)

    def out_of_time(self) -> BudgetExceeded:
        """What to raise where no time is left."""
        own, of_run = self.budget.seconds, self._run.budget.seconds
        if of_run is not None and (own is None or self._run.seconds_left() == 0):
            return self._of_the_run(f"The run's {of_run:g} s are used up.")
        return BudgetExceeded("seconds", f"The {own or 0.0:g} s are used up.", do="Raise --max-seconds.")

    def used_up(self, *, trial: int, step: int = 0) -> str:
        """The kind of budget that forbids another try after `trial`, or ""; `run`: the run's, of whatever kind."""
        budget = self.budget
        if trial >= budget.trials:
            return "trials"
        if step >= budget.steps:
            return "steps"
        if budget.seconds is not None and self.seconds >= budget.seconds:
            return "seconds"
        mine = next((kind for kind in KINDS if self._mine.used_up(kind)), None)
        if mine is not None:
            return mine
        # a step within a trial begins none
        return "run" if self._run.used_up(trials=trial >= 0) else ""

    def begin_trial(self) -> None:
        """Counts a trial before it begins.

        Raises:
            BudgetExceeded: the run has none left.
        """
        one = Cost(trials=1)
        self._check_run(one)
        self.book(one)

    @contextmanager
    def reserve(self, usd: float | None, tokens: int) -> Generator[Reservation]:
        """Holds the most that a call can cost while it runs, and books what its reservation says when it has run.

        A call that is cancelled may have been paid for, and is booked at the most.

        Args:
            usd: its price at most; None where it is unknown.
            tokens: prompt and completion tokens at most.

        Raises:
            BudgetExceeded: it could cost more than is left, or its price is unknown and money is limited.
        """
        if self.seconds_left() == 0:
            raise self.out_of_time()
        if usd is None and (self.budget.usd is not None or self._run.budget.usd is not None):
            raise BudgetExceeded(
                "usd",
                "The price of this model is unknown, so the money limit can't be kept.",
                do="Give its price (usd_per_token), or limit tokens instead of money.",
            )
        held = Reservation(Cost(usd or 0.0, tokens, calls=1))
        self._mine.check(held.most)
        self._check_run(held.most)
        accounts = (self._mine, self._run.account)
        for account in accounts:
            account.hold(id(held), held.most)
        try:
            yield held
        except asyncio.CancelledError:
            held.spend_all()
            raise
        finally:
            for account in accounts:
                account.release(id(held))
            self.book(held.spent)

    def book(self, cost: Cost) -> None:
        """Counts what was used now."""
        self._mine.book(cost)
        self._run.account.book(cost)

    def book_earlier(self, cost: Cost) -> None:
        """Counts what an earlier process used in this episode; the run's meter knows of it already."""
        self._mine.book(cost)

    def _check_run(self, most: Cost) -> None:
        try:
            self._run.account.check(most)
        except BudgetExceeded as exceeded:
            raise self._of_the_run(exceeded.what) from exceeded

    def _of_the_run(self, what: str) -> BudgetExceeded:
        return BudgetExceeded("run", what, do="Raise the run's budget and go on with it.")
