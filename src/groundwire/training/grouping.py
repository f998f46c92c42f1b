"""Episodes that answered the same question, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from groundwire.training.trajectories import Trajectory

__all__ = ["Grouped", "Key", "by_group", "by_task", "group_of", "task_of"]

Key = Callable[[Trajectory], str]
"""What episodes of one group have in common."""


def group_of(trajectory: Trajectory) -> str:
    """The task and the first prompt: what recalled lessons changed in a prompt makes another question."""
    return trajectory.group


def task_of(trajectory: Trajectory) -> str:
    """The task and the files that it begins with, whatever the actor was told besides."""
    return f"{trajectory.base_digest} {trajectory.task}"


@runtime_checkable
class Grouped(Protocol):
    """Trajectories that can be had group by group without all of them in memory."""

    def in_groups(self, key: Key = group_of) -> Iterator[Sequence[Trajectory]]:
        """The groups, in the order of their first episodes; in each, the episodes in their order."""
        ...


def by_group(trajectories: Iterable[Trajectory], key: Key = group_of) -> Iterator[Sequence[Trajectory]]:
    """The trajectories by `Trajectory.group`, one group in memory at a time where they can be had so."""
    if isinstance(trajectories, Grouped):
        yield from trajectories.in_groups(key)
        return
    groups: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        groups.setdefault(key(trajectory), []).append(trajectory)
    yield from groups.values()


def by_task(trajectories: Iterable[Trajectory]) -> Iterator[Sequence[Trajectory]]:
    """The same by task: what was right in one episode is right in all of its group."""
    return by_group(trajectories, task_of)
