"""Worlds whose state is a value: what plays them, and an exact search for the shortest way to win."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol, Self

from groundwire.environments import Scene, Status

__all__ = ["Position", "Stateful", "shortest"]


class Position(Protocol):
    """All that is the case in a world. Two that are equal show the same scene, and two that differ show another."""

    @property
    def scene(self) -> Scene:
        """What is shown: its text names the state, its actions are all that can be done."""
        ...

    def after(self, action: str) -> Self:
        """Where an action leads; here again, if it can't be done."""
        ...


class Stateful:
    """An environment made of positions (`groundwire.environments.Environment`).

    Args:
        begin: the first position, by seed.
        oracle: True where positions know that they are won from an answer key.
    """

    def __init__(self, begin: Callable[[int], Position], *, oracle: bool = False) -> None:
        self.oracle = oracle
        self._begin = begin
        self._at: Position | None = None

    def reset(self, seed: int) -> Scene:
        """Begins anew."""
        self._at = self._begin(seed)
        return self._at.scene

    def act(self, action: str) -> Scene:
        """Does one thing; nothing changes any more once the world is won or lost.

        Raises:
            RuntimeError: `reset` was not called.
        """
        if self._at is None:
            raise RuntimeError("the world has not been begun: call reset(seed)")
        if self._at.scene.status is Status.RUNNING:
            self._at = self._at.after(" ".join(action.split()))
        return self._at.scene

    def close(self) -> None:
        """Frees the position."""
        self._at = None


def shortest(start: Position, *, most: int = 100_000) -> tuple[str, ...] | None:
    """The fewest actions that win, among those that scenes offer, by breadth-first search.

    Args:
        start: where to begin.
        most: positions to look at.

    Returns:
        The actions; None where there is no way to win.

    Raises:
        OverflowError: `most` positions were looked at and did not settle it.
    """
    ways: dict[Position, tuple[str, ...]] = {start: ()}
    waiting = deque([start])
    while waiting:
        at = waiting.popleft()
        scene = at.scene
        if scene.status is Status.WON:
            return ways[at]
        for action in scene.actions if scene.status is Status.RUNNING else ():
            following = at.after(action)
            if following not in ways:
                ways[following] = (*ways[at], action)
                waiting.append(following)
        if len(ways) > most:
            raise OverflowError(f"more than {most} positions lie ahead")
    return None
