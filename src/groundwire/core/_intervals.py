"""Intervals of a proportion."""

from __future__ import annotations

import math

Z_95 = 1.959964
"""Of a 95 % interval."""


def wilson(passed: int, trials: int, z: float = Z_95) -> tuple[float, float]:
    """The interval of a rate (Wilson, "Probable inference", JASA 22, 1927).

    Args:
        passed: how many of the trials.
        trials: how many there were; with none the rate may be anything.
        z: quantile of the normal distribution that the interval reaches to.

    Returns:
        Its ends, from 0 to 1.
    """
    if not trials:
        return 0.0, 1.0
    rate = passed / trials
    middle = rate + z * z / (2 * trials)
    half = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    whole = 1 + z * z / trials
    return max(0.0, (middle - half) / whole), min(1.0, (middle + half) / whole)
