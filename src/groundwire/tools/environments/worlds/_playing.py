"""A world that is a puzzle: positions, what an action makes of one, and a search for a way to win."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Protocol, Self

from groundwire.core._scene import Scene, Status

MAX_CHARS = 500
"""Characters of an action that are read."""


class Refused(Exception):
    """What was asked for can't be done here, and nothing has changed; the message says why, in words for an actor."""


class Position(Protocol):
    """Where a game stands. What it shows follows from the position alone, so that the same one is told by its text."""

    def scene(self) -> Scene:
        """What is seen, how it stands, and all that can be done."""
        ...

    def after(self, action: str) -> Self:
        """The position that an action leads to.

        Args:
            action: printable or not, at most 500 characters; no more is known of it.

        Raises:
            Refused: it can't be done.
        """
        ...


class Playing:
    """An `Environment` over positions.

    An action that is refused changes nothing: the scene is the same as before, and its event says why. Such actions are
    never among the hints.

    Args:
        begin: the first position of a seed; the same in every process.
    """

    oracle = False
    """Rules judge here; nothing is compared with a key."""

    def __init__(self, begin: Callable[[int], Position]) -> None:
        self._begin = begin
        self._position: Position | None = None
        self.refused = ""
        """Why the last action was refused; empty where it was done."""

    def reset(self, seed: int) -> Scene:
        """See `Environment`."""
        self._position = self._begin(seed)
        self.refused = ""
        return self._position.scene()

    def act(self, action: str) -> Scene:
        """See `Environment`. When it is over, it stays as it is."""
        if self._position is None:
            raise RuntimeError("the world was not begun: call reset(seed) first")
        scene = self._position.scene()
        self.refused = ""
        if scene.status is not Status.RUNNING:
            return scene
        try:
            if len(action) > MAX_CHARS:
                raise Refused(f"an action has at most {MAX_CHARS} characters, and this one has {len(action)}.")
            self._position = self._position.after(action)
        except Refused as refusal:
            self.refused = str(refusal)
            return replace(scene, event=f"Not done: {refusal}")
        return self._position.scene()

    def close(self) -> None:
        """See `Environment`. It holds nothing."""


# An exact search for the shortest way to win, through positions of any world.


def shortest(start: Position, *, most: int = 100_000) -> tuple[str, ...] | None:
    """The fewest actions that win, among those that scenes offer, by breadth-first search.

    Args:
        start: where to begin; positions are told apart as values.
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
        scene = at.scene()
        if scene.status is Status.WON:
            return ways[at]
        for action in scene.actions if scene.status is Status.RUNNING else ():
            with suppress(Refused):
                following = at.after(action)
                if following not in ways:
                    ways[following] = (*ways[at], action)
                    waiting.append(following)
        if len(ways) > most:
            raise OverflowError(f"more than {most} positions lie ahead")
    return None
