"""What counts as a lesson and as a success: one place, so that every store answers alike."""

from __future__ import annotations

from collections.abc import Iterable

from groundwire.contexts import EditCounts, Lesson
from groundwire.records import ReflectionRecord
from groundwire.signals import EXTERNAL_ORIGINS, Origin

__all__ = ["COUNTED_ORIGINS", "RECALL_SCAN", "Picker", "edit_counts", "lesson_of"]

COUNTED_ORIGINS = frozenset(EXTERNAL_ORIGINS - {Origin.MODEL_TESTS})
"""Origins whose verdicts count in edit statistics. Hidden tests are not among them, since statistics steer the next
search and hidden tests never steer; nor is anything that a model said."""

RECALL_SCAN = 200
"""Newest reflections of a task or family that recall looks at, so that its cost is bounded at any size; only a task
whose last 200 reflections repeat each other can get fewer lessons than it has."""


class Picker:
    """Takes reflections, newest first, until `window` distinct texts were found.

    Args:
        window: the most that are wanted.
    """

    def __init__(self, window: int) -> None:
        self.picked: list[ReflectionRecord] = []
        self.window = window
        self._texts: set[str] = set()

    @property
    def full(self) -> bool:
        """True where no more is wanted."""
        return len(self.picked) >= self.window

    def offer(self, reflections: Iterable[ReflectionRecord]) -> None:
        """Takes those whose text was not taken yet, until full."""
        for reflection in reflections:
            if self.full:
                return
            if reflection.text not in self._texts:
                self._texts.add(reflection.text)
                self.picked.append(reflection)


def edit_counts(groups: Iterable[tuple[tuple[str, ...], int, int]]) -> EditCounts:
    """Per edit name, from counts per combination of edits; a name counts once a candidate.

    Args:
        groups: (edits, candidates judged, candidates of these that passed).
    """
    used: dict[str, int] = {}
    passed: dict[str, int] = {}
    for edits, n_used, n_passed in groups:
        for name in set(edits):
            used[name] = used.get(name, 0) + n_used
            passed[name] = passed.get(name, 0) + n_passed
    return {name: (used[name], passed[name]) for name in sorted(used)}


def lesson_of(reflection: ReflectionRecord) -> Lesson:
    """The reflection as what an actor gets."""
    return Lesson(
        id=reflection.id,
        text=reflection.text,
        task_id=reflection.task_id,
        family=reflection.family,
        signal_id=reflection.signal_id,
        created_at=reflection.created_at,
    )
