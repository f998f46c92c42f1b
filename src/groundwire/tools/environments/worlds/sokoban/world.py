"""A room of Sokoban as a world; it is lost as soon as no way of pushing is left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from groundwire.environments import Scene, Status
from groundwire.tools.environments.world import World
from groundwire.tools.environments.worlds.playing import Playing, Refused
from groundwire.tools.environments.worlds.sokoban.puzzle import (
    STEPS,
    Arrangement,
    Cell,
    Room,
    dead_cells,
    distances,
    generate,
)

__all__ = ["WORLD", "InRoom", "begin"]

LEGEND = "# wall, @ you, $ box, . goal, * box on a goal, + you on a goal"


@dataclass(frozen=True)
class InRoom:
    """A room and how it stands there (`Position`)."""

    room: Room
    now: Arrangement

    def scene(self) -> Scene:
        """See `Position`."""
        drawn = self._drawn()
        if self.now.boxes == self.room.goals:
            return Scene(f"{drawn}\nEvery box is on a goal.", Status.WON)
        if self.now not in distances(self.room):
            return Scene(f"{drawn}\n{self._why_lost()}", Status.LOST)
        steps = tuple(step for step in STEPS if self.room.pushed(self.now, step))
        return Scene(f"{drawn}\n{LEGEND}", actions=steps)

    def after(self, action: str) -> Self:
        """See `Position`."""
        if action not in STEPS:
            raise Refused("a step is north, east, south or west.")
        now = self.room.pushed(self.now, action)
        if now is None:
            raise Refused("a wall, or a box with no room behind it, is in the way.")
        return replace(self, now=now)

    def _why_lost(self) -> str:
        stuck = sorted(self.now.boxes & dead_cells(self.room))
        if stuck:
            row, column = stuck[0]
            return f"The box in line {row + 1}, column {column + 1} can't be pushed to a goal from there: it is lost."
        return "The boxes stand in each other's way: they can't all be pushed onto goals any more."

    def _drawn(self) -> str:
        rows = range(max(row for row, _ in self.room.floor) + 2)
        columns = range(max(column for _, column in self.room.floor) + 2)
        return "\n".join("".join(self._mark((row, column)) for column in columns) for row in rows)

    def _mark(self, cell: Cell) -> str:
        is_goal = cell in self.room.goals
        if cell == self.now.at:
            return "+" if is_goal else "@"
        if cell in self.now.boxes:
            return "*" if is_goal else "$"
        return "." if is_goal else " " if cell in self.room.floor else "#"


def begin(seed: int) -> InRoom:
    """How the room of that seed begins."""
    return InRoom(*generate(seed))


WORLD = World(
    name="sokoban",
    make=lambda: Playing(begin),
    prompt="Push every box onto a goal. A step goes north (up), east, south or west; a box in the way is pushed along,"
    " if what lies behind it is free. Boxes can't be pulled. The world is lost as soon as no way is left. An action:"
    " `north`.",
    actions=45,
    about="one or two boxes in a small room; five rooms, and by seed where the boxes stand",
)
