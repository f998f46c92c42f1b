"""Episodes that answered the same question, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from groundwire.training.trajectories import Trajectory

__all__ = ["Grouped", "by_group"]


@runtime_checkable
class Grouped(Protocol):
    """Trajectories that can be had group by group without all of them in memory."""

    def in_groups(self) -> Iterator[Sequence[Trajectory]]:
        """The groups, in the order of their first episodes; in each, the episodes in their order."""
        ...


def by_group(trajectories: Iterable[Trajectory]) -> Iterator[Sequence[Trajectory]]:
    """The trajectories by `Trajectory.group`, one group in memory at a time where they can be had so."""
    if isinstance(trajectories, Grouped):
        yield from trajectories.in_groups()
        return
    groups: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        groups.setdefault(trajectory.group, []).append(trajectory)
    yield from groups.values()
