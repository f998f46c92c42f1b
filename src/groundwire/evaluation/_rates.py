"""Shares with their intervals, and numbers as a reader wants them."""

from __future__ import annotations

from dataclasses import dataclass

from scipy import stats

_TAIL = 0.025

# A share with what it is a share of, and how sure it is.


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
        """Its 95 % interval: the exact one, which never covers less (Clopper and Pearson, Biometrika 26, 1934). Of
        nothing the rate may be anything."""
        part, rest = self.part, self.whole - self.part
        low = float(stats.beta.ppf(_TAIL, part, rest + 1)) if part else 0.0
        high = float(stats.beta.ppf(1 - _TAIL, part + 1, rest)) if rest else 1.0
        return low, high


# Numbers as a reader wants them: short, with their unit, and a dash where there is none.

DASH = "–"


def percent(value: float | None) -> str:
    """`83.3 %`."""
    return DASH if value is None else f"{100 * value:.1f} %"


def points(value: float | None) -> str:
    """`+8.3 points`."""
    return DASH if value is None else f"{100 * value:+.1f} points"


def rate(value: Rate) -> str:
    """`83.3 % (5 of 6)`."""
    return DASH if value.value is None else f"{percent(value.value)} ({value.part:,} of {value.whole:,})"


def count(value: float | None) -> str:
    """`1,234`."""
    return DASH if value is None else f"{value:,.0f}"


def decimal(value: float | None) -> str:
    """`0.625`."""
    return DASH if value is None else f"{value:.3f}"


def dollars(value: float | None) -> str:
    """`$0.0012`."""
    return DASH if value is None else f"${value:,.4f}" if value < 1 else f"${value:,.2f}"


def seconds(value: float | None) -> str:
    """`12.3 s`."""
    return DASH if value is None else f"{value:,.1f} s"
