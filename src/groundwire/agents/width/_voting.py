"""Votes over answers that say the same, and how confident the tokens of each were."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

# Votes over answers that say the same; none of them can be right where no answer is.


@dataclass(frozen=True)
class Vote:
    """What came of a vote.

    Args:
        ranking: keys, the winner first; of equal ones the first seen. Empty where nobody gave an answer.
        share: of the winner in all that was given (β of DeepConf); 0 without a winner.
        tie: True where another key has as much as the winner.
        counted: answers that voted.
    """

    ranking: tuple[str, ...]
    share: float
    tie: bool
    counted: int

    def __str__(self) -> str:
        tied = ", a tie: the first seen" if self.tie else ""
        return f"{self.share:.0%} of {self.counted} answers, {len(self.ranking)} different{tied}"


def majority(keys: Sequence[str | None]) -> Vote:
    """Plurality (self-consistency, arXiv 2203.11171). `None` is an answer that could not be read; it has no vote."""
    return weighted(keys, [1.0] * len(keys))


def weighted(keys: Sequence[str | None], weights: Sequence[float]) -> Vote:
    """Each answer votes with its own weight, which is not negative."""
    scores: dict[str, float] = {}
    for key, weight in zip(keys, weights, strict=True):
        if key is not None:
            scores[key] = scores.get(key, 0.0) + weight
    return _ranked(scores, sum(key is not None for key in keys))


def shortest_majority(keys: Sequence[str | None], lengths: Sequence[float]) -> Vote:
    """Large and short groups first: count / log(mean length in tokens) (arXiv 2502.12215, wrong answers are longer).

    Lengths count from e on, where the logarithm is 1; so with equal lengths it is plain majority. The discount is mild:
    4 answers of 9,000 tokens (0.439) stay just ahead of 3 of 1,000 (0.434), and fall behind 3 of 800 (0.449).
    """
    groups: dict[str, list[float]] = {}
    for key, length in zip(keys, lengths, strict=True):
        if key is not None:
            groups.setdefault(key, []).append(length)
    scores = {key: len(all_) / math.log(max(math.e, sum(all_) / len(all_))) for key, all_ in groups.items()}
    return _ranked(scores, sum(map(len, groups.values())))


def _ranked(scores: Mapping[str, float], counted: int) -> Vote:
    ranking = tuple(sorted(scores, key=lambda key: -scores[key]))  # stable: of equal ones the first seen
    total = sum(scores.values())
    best = [scores[key] for key in ranking[:2]]
    tie = len(best) > 1 and math.isclose(*best)
    return Vote(ranking, best[0] / total if total else 0.0, tie, counted)


# Confidence of a trace by its token probabilities (DeepConf, arXiv 2508.15260).
#
# It may drop a trace or weigh it, and never starts a rewrite.

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
