"""Numbers as a reader wants them: short, with their unit, and a dash where there is none."""

from __future__ import annotations

from groundwire.evaluation.rates import Rate

__all__ = ["DASH", "count", "decimal", "dollars", "percent", "points", "rate", "seconds"]

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
