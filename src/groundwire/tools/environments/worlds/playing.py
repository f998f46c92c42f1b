"""A world that is a puzzle: positions that never change, and what an action makes of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, Self

from groundwire.core.environments import Scene, Status

__all__ = ["MAX_CHARS", "Playing", "Position", "Refused"]

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
