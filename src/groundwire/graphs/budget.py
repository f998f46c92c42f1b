"""Budgets: reserved before each effect, settled after; concurrent calls can't overspend together."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from groundwire.completions import Completion
from groundwire.errors import BudgetExceeded

__all__ = ["Budget", "Meter", "Reservation"]


class Budget(BaseModel):
    """Ceilings for one episode. None: no ceiling."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trials: int = Field(default=10, ge=1)
    """Trials, the baseline not counted."""
    steps: int = Field(default=50, ge=1)
    """Actor steps within one trial (`advance`)."""
    usd: float | None = Field(default=None, ge=0)
    """US dollars for model calls."""
    tokens: int | None = Field(default=None, ge=0)
    """Prompt and completion tokens together."""
    seconds: float | None = Field(default=None, ge=0)
    """Wall seconds."""


@dataclass
class Reservation:
    """What one call may cost at most."""

    usd: float
    tokens: int


class Meter:
    """What an episode has used.

    Args:
        budget: the ceilings.
        clock: seconds, monotone.
    """

    def __init__(self, budget: Budget, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self._clock = clock
        self._start = clock()
        self._held_usd = 0.0
        self._held_tokens = 0
        self.usd = 0.0
        self.tokens = 0
        self.calls = 0

    @property
    def seconds(self) -> float:
        """Wall seconds since the episode began (or was resumed)."""
        return self._clock() - self._start

    def seconds_left(self) -> float | None:
        """Wall seconds left, or None without a ceiling."""
        return None if self.budget.seconds is None else max(0.0, self.budget.seconds - self.seconds)

    def used_up(self, *, trial: int, step: int = 0) -> str:
        """The kind of budget that forbids another try after `trial`, or ""."""
        budget = self.budget
        if trial >= budget.trials:
            return "trials"
        if step >= budget.steps:
            return "steps"
        if budget.seconds is not None and self.seconds >= budget.seconds:
            return "seconds"
        if budget.usd is not None and self.usd > 0 and self.usd >= budget.usd:
            return "usd"
        if budget.tokens is not None and self.tokens > 0 and self.tokens >= budget.tokens:
            return "tokens"
        return ""

    @contextmanager
    def reserve(self, usd: float | None, tokens: int) -> Generator[Reservation]:
        """Holds the most that a call can cost while it runs.

        Args:
            usd: its price at most; None where it is unknown.
            tokens: prompt and completion tokens at most.

        Raises:
            BudgetExceeded: it could cost more than is left, or its price is unknown and money is limited.
        """
        budget = self.budget
        left = self.seconds_left()
        if left is not None and left <= 0:
            raise BudgetExceeded("seconds", f"The {budget.seconds:g} s are used up.", do="Raise --max-seconds.")
        if budget.usd is not None:
            if usd is None:
                raise BudgetExceeded(
                    "usd",
                    "The price of this model is unknown, so the money limit can't be kept.",
                    do="Give its price (usd_per_token), or limit tokens instead of money.",
                )
            spent = self.usd + self._held_usd
            usd_left = max(0.0, budget.usd - spent)
            if usd > usd_left:
                raise BudgetExceeded(
                    "usd",
                    f"The next call may cost ${usd:.4f}; ${usd_left:.4f} of ${budget.usd:g} is left.",
                    do="Raise --max-usd.",
                )
        if budget.tokens is not None and self.tokens + self._held_tokens + tokens > budget.tokens:
            raise BudgetExceeded(
                "tokens",
                f"The next call may use {tokens} tokens; {max(0, budget.tokens - self.tokens - self._held_tokens)} of"
                f" {budget.tokens} are left.",
                do="Raise --max-tokens, or ask for shorter answers.",
            )
        held = Reservation(usd or 0.0, tokens)
        self._held_usd += held.usd
        self._held_tokens += held.tokens
        try:
            yield held
        finally:
            self._held_usd -= held.usd
            self._held_tokens -= held.tokens

    def settle(self, completion: Completion) -> None:
        """Books what a call really used."""
        self.book(usd=completion.usd or 0.0, tokens=completion.prompt_tokens + completion.completion_tokens)

    def book(self, *, usd: float, tokens: int) -> None:
        """Books a call, also one of an earlier process that the ledger tells of."""
        self.usd += usd
        self.tokens += tokens
        self.calls += 1
