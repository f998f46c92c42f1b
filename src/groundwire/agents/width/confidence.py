"""Confidence of a trace by its token probabilities (DeepConf, arXiv 2508.15260).

It may drop a trace or weigh it, and never starts a rewrite.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Literal

__all__ = ["TOP_K", "RunningGroup", "Score", "groups", "percentile", "score", "token_confidence"]

TOP_K = 20
"""Likeliest tokens that count at each place; an engine that returns one more has added the sampled one."""
BOTTOM = 0.1

Score = Literal["lowest", "bottom", "tail", "mean"]
"""Of a trace: its lowest group, the mean of the lowest tenth of its groups, its last group, or its tokens' mean."""


def token_confidence(top: Sequence[float], k: int = TOP_K) -> float:
    """−(1/k) · Σ log P over the k likeliest tokens at one place, in nats: high where one token stands out."""
    best = top[:k]
    return -sum(best) / len(best) if best else 0.0


def groups(confidences: Sequence[float], window: int) -> list[float]:
    """Means over a window of `window` tokens that slides by one; one group where there are no more tokens than that."""
    if len(confidences) <= window:
        return [sum(confidences) / len(confidences)] if confidences else []
    total = math.fsum(confidences[:window])
    found = [total / window]
    for old, new in zip(confidences, confidences[window:], strict=False):
        total += new - old
        found.append(total / window)
    return found


def score(confidences: Sequence[float], kind: Score, window: int) -> float:
    """A trace's confidence; 0 for one without tokens."""
    if not confidences:
        return 0.0
    match kind:
        case "mean":
            return sum(confidences) / len(confidences)
        case "tail":
            last = confidences[-window:]
            return sum(last) / len(last)
        case "lowest":
            return min(groups(confidences, window))
        case "bottom":
            found = sorted(groups(confidences, window))
            lowest = found[: max(1, math.ceil(len(found) * BOTTOM))]
            return sum(lowest) / len(lowest)


def percentile(values: Sequence[float], q: float) -> float:
    """The q-th percentile with linear interpolation, as NumPy's default.

    Args:
        values: at least one.
        q: 0 to 100.
    """
    ordered = sorted(values)
    place = (len(ordered) - 1) * q / 100
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


class RunningGroup:
    """The mean of a trace's last `window` tokens while it is written.

    Args:
        window: tokens.
    """

    def __init__(self, window: int) -> None:
        self._last: deque[float] = deque(maxlen=window)
        self._total = 0.0

    def add(self, confidence: float) -> float | None:
        """The group's mean with one more token; None until it is full."""
        if len(self._last) == self._last.maxlen:
            self._total -= self._last[0]
        self._last.append(confidence)
        self._total += confidence
        return self._total / len(self._last) if len(self._last) == self._last.maxlen else None
