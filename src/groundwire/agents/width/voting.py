"""Votes over answers that say the same; none of them can be right where no answer is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Vote", "majority", "shortest_majority", "weighted"]


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
