"""Several edits at once: one more on top of those that fixed a part, and pairs of the most likely ones."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

from groundwire.agents.search.edits import Edit, overlap

__all__ = ["Combinations", "Progress"]

LIKELY = 250
"""Single edits, from the most likely on, that are paired with each other."""
PARTNERS = 2000
"""Single edits that are tried on top of those that made progress."""
MOST = 4
"""Edits in one candidate."""
CLEAN, MIXED, NONE = 0.5, 0.1, 0.02
"""Chance that an edit is a part of the repair: it fixed cases and broke none; it did both; it did neither."""


@dataclass(frozen=True)
class Progress:
    """What judged edits changed.

    Args:
        edits: the edits, made together.
        fixed: failing cases that pass with them.
        broken: passing cases that fail with them.
    """

    edits: tuple[Edit, ...]
    fixed: frozenset[str]
    broken: frozenset[str]


@dataclass(frozen=True)
class _First:
    """What another edit is tried on top of."""

    edits: tuple[Edit, ...]
    chance: float
    limit: int
    place: int
    progress: Progress | None = None


class Combinations:
    """Combinations of edits, best first.

    Args:
        single: the single edit at a place of their order, None after the last one.
        relevant: False where an edit can't help the cases that the first ones left failing.
    """

    def __init__(
        self, single: Callable[[int], Edit | None], relevant: Callable[[Progress, Edit], bool] = lambda _p, _e: True
    ) -> None:
        self._single = single
        self._relevant = relevant
        self._heap: list[tuple[float, int, int]] = []
        self._firsts: list[_First] = []
        self._fixed: dict[tuple[Edit, ...], int] = {}
        self._open_likely(0)

    def learn(self, progress: Progress) -> None:
        """Takes up edits that made progress, where the last one added something to what the others had fixed."""
        edits, fixed = progress.edits, len(progress.fixed)
        if edits in self._fixed or fixed <= self._fixed.get(edits[:-1], 0) or len(edits) >= MOST:
            return
        self._fixed[edits] = fixed
        chance = (MIXED if progress.broken else CLEAN) * min(1.0, 0.5 + 0.25 * fixed)
        self._open(_First(edits, chance, PARTNERS, -1, progress), 0)

    def best(self) -> float:
        """The score of the next combination, comparable with that of single edits; 0 where there is none."""
        return -self._heap[0][0] if self._heap else 0.0

    def pop(self) -> tuple[Edit, ...] | None:
        """The next combination that can be made; None after the last one."""
        while self._heap:
            _, index, partner = heapq.heappop(self._heap)
            first, second = self._firsts[index], self._single(partner)
            self._push(index, partner + 1)
            if first.progress is None and partner == first.place + 1:
                self._open_likely(partner)
            if second is None or not all(_compatible(edit, second) for edit in first.edits):
                continue
            if first.progress is None or self._relevant(first.progress, second):
                return (*first.edits, second)
        return None

    def _open_likely(self, place: int) -> None:
        edit = self._single(place) if place < LIKELY else None
        if edit is not None:
            self._open(_First((edit,), NONE * edit.score, LIKELY, place), place + 1)

    def _open(self, first: _First, partner: int) -> None:
        self._firsts.append(first)
        self._push(len(self._firsts) - 1, partner)

    def _push(self, index: int, partner: int) -> None:
        first = self._firsts[index]
        second = self._single(partner) if partner < first.limit else None
        if second is not None:
            heapq.heappush(self._heap, (-first.chance * second.score, index, partner))


def _compatible(first: Edit, second: Edit) -> bool:
    return first.path != second.path or not overlap(first.proposal.splices, second.proposal.splices)
