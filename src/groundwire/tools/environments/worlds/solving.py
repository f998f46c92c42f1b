"""An exact search for the shortest way to win, through positions of any world."""

from __future__ import annotations

from collections import deque
from contextlib import suppress

from groundwire.core.environments import Status
from groundwire.tools.environments.worlds.playing import Position, Refused

__all__ = ["shortest"]


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
