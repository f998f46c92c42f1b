"""A share with what it is a share of, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass

from groundwire.intervals import wilson

__all__ = ["Rate"]


@dataclass(frozen=True)
class Rate:
    """A proportion.

    Args:
        part: how many.
        whole: of how many; with none there is no rate.
    """

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """From 0 to 1; None of nothing."""
        return self.part / self.whole if self.whole else None

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % interval (`groundwire.intervals.wilson`)."""
        return wilson(self.part, self.whole)
