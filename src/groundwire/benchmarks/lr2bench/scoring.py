"""Exact and partial match of an answer with the key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from groundwire.benchmarks.lr2bench.rules import matched

__all__ = ["Match", "match"]


@dataclass(frozen=True)
class Match:
    """How much of an answer is as in the key.

    Args:
        right: cells that are, of those that the puzzle leaves open: words, letters or values.
        of: all of these.
    """

    right: int
    of: int

    @property
    def exact(self) -> bool:
        """All are (EM)."""
        return self.right == self.of

    def partial(self, share: float = 0.5) -> bool:
        """At least that share is (PM-0.5 of the paper)."""
        return self.right >= share * self.of


def match(puzzle: Mapping[str, Any], key: object, answer: str) -> Match:
    """Compares; case and spaces make no difference.

    Args:
        puzzle: `Puzzle` of `rules`.
        key: the published answer, parsed.
        answer: the answer's text; one that can't be read has nothing right.
    """
    return Match(*matched(puzzle, key, answer))
