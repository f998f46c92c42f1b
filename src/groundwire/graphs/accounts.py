"""One budget's account: what was used of it, and what is held for what is under way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from groundwire.errors import BudgetExceeded
from groundwire.graphs.budget import Kind

__all__ = ["KINDS", "Account", "Cost"]

KINDS: tuple[Kind, ...] = get_args(Kind)
UNITS: Mapping[Kind, str] = {
    "usd": "${:.4f}",
    "tokens": "{:,} tokens",
    "calls": "{} model calls",
    "trials": "{} trials",
}


@dataclass(frozen=True)
class Cost:
    """An amount of all that is counted."""

    usd: float = 0.0
    """US dollars."""
    tokens: int = 0
    """Prompt and completion tokens together."""
    calls: int = 0
    trials: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.usd + other.usd, self.tokens + other.tokens, self.calls + other.calls, self.trials + other.trials
        )

    def __neg__(self) -> Cost:
        return Cost(-self.usd, -self.tokens, -self.calls, -self.trials)

    def of(self, kind: Kind) -> float:
        """The amount of one kind."""
        return {"usd": self.usd, "tokens": self.tokens, "calls": self.calls, "trials": self.trials}[kind]


class Account:
    """One budget's account. Cost: O(1) for each call.

    Args:
        ceilings: the most of each kind; None: no ceiling.
        owner: whose it is, for messages.
    """

    def __init__(self, ceilings: Mapping[Kind, float | None], owner: str) -> None:
        self.ceilings = ceilings
        self.owner = owner
        self.used = Cost()
        self._held: dict[int, Cost] = {}
        self._together = Cost()

    def left(self, kind: Kind) -> float | None:
        """What is neither used nor held, or None without a ceiling."""
        ceiling = self.ceilings.get(kind)
        if ceiling is None:
            return None
        return max(0, ceiling - self.used.of(kind) - self._together.of(kind))

    def used_up(self, kind: Kind) -> bool:
        """True if nothing is left of it for another try; who never used any may not need it, and is let go on."""
        ceiling, used = self.ceilings.get(kind), self.used.of(kind)
        return ceiling is not None and used > 0 and used >= ceiling

    def check(self, most: Cost) -> None:
        """Raises BudgetExceeded if it has less left than `most`."""
        for kind in KINDS:
            ceiling, wanted, left = self.ceilings.get(kind), most.of(kind), self.left(kind)
            if ceiling is not None and left is not None and wanted > left:
                said = UNITS[kind].format
                raise BudgetExceeded(
                    kind,
                    f"The next step may use {said(wanted)}; {said(left)} of {self.owner}'s {said(ceiling)} are left.",
                    do=f"Raise --max-{kind}.",
                )

    def hold(self, key: int, most: Cost) -> None:
        """Keeps `most` back until `release`."""
        self._held[key] = most
        self._together += most

    def release(self, key: int) -> None:
        """Gives back what was held."""
        held = self._held.pop(key)
        # without anything held it is zero to the last bit, however many floats came and went
        self._together = Cost() if not self._held else self._together + -held

    def book(self, cost: Cost) -> None:
        """Counts what was really used."""
        self.used += cost
