"""Two edits at once: on top of one that fixed a part, and among the most likely ones."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

from groundwire.agents.search.edits import Edit, overlap

__all__ = ["Pairs", "Progress"]

LIKELY = 250
"""Single edits, from the most likely on, that are paired with each other."""
PARTNERS = 2000
"""Single edits that are tried on top of one that made progress."""
CLEAN, MIXED, NONE = 0.5, 0.1, 0.02
"""Chance that an edit is a part of the repair: it fixed cases and broke none; it did both; it did neither."""


@dataclass(frozen=True)
class Progress:
    """What a judged edit changed.

    Args:
        edit: the edit.
        fixed: failing cases that pass with it.
        broken: passing cases that fail with it.
    """

    edit: Edit
    fixed: frozenset[str]
    broken: frozenset[str]


@dataclass(frozen=True)
class _First:
    """An edit that others are tried on top of."""

    edit: Edit
    chance: float
    limit: int
    place: int
    progress: Progress | None = None


class Pairs:
    """Pairs of edits, best first.

    Args:
        single: the single edit at a place of their order, None after the last one.
        relevant: False where an edit can't help the cases that a first edit left failing.
    """

    def __init__(
        self, single: Callable[[int], Edit | None], relevant: Callable[[Progress, Edit], bool] = lambda _p, _e: True
    ) -> None:
        self._single = single
        self._relevant = relevant
        self._heap: list[tuple[float, int, int]] = []
        self._firsts: list[_First] = []
        self._known: set[Edit] = set()
        self._open_likely(0)

    def learn(self, progress: Progress) -> None:
        """Takes up an edit that made progress."""
        if progress.edit in self._known or not progress.fixed:
            return
        self._known.add(progress.edit)
        chance = (MIXED if progress.broken else CLEAN) * min(1.0, 0.5 + 0.25 * len(progress.fixed))
        self._open(_First(progress.edit, chance, PARTNERS, -1, progress), 0)

    def best(self) -> float:
        """The score of the next pair, comparable with that of single edits; 0 where there is none."""
        return -self._heap[0][0] if self._heap else 0.0

    def pop(self) -> tuple[Edit, Edit] | None:
        """The next pair that can be made; None after the last one."""
        while self._heap:
            _, index, partner = heapq.heappop(self._heap)
            first, second = self._firsts[index], self._single(partner)
            self._push(index, partner + 1)
            if first.progress is None and partner == first.place + 1:
                self._open_likely(partner)
            if second is None or second == first.edit or not _compatible(first.edit, second):
                continue
            if first.progress is None or self._relevant(first.progress, second):
                return first.edit, second
        return None

    def _open_likely(self, place: int) -> None:
        edit = self._single(place) if place < LIKELY else None
        if edit is not None:
            self._open(_First(edit, NONE * edit.score, LIKELY, place), place + 1)

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
