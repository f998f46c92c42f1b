"""A room of Sokoban as a world: rooms, how far they are from solved, and when one is lost."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Self

from groundwire.core._scenes import Scene, Status
from groundwire.tools.environments._world import World
from groundwire.tools.environments.worlds._playing import Playing, Refused

# Rooms, and how far every arrangement of boxes in them is from solved.
#
# A room is small enough to be known in full: from its solved arrangements one goes back, pulling boxes instead of
# pushing them, until nothing new is found. What was found can be won, in exactly so many steps; nothing else can.

Cell = tuple[int, int]
"""Row and column, from the north-west corner, walls included."""
STEPS: dict[str, Cell] = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
NEAREST, FARTHEST = 4, 16
"""Steps to the end that a world may begin at."""


class Arrangement(NamedTuple):
    """Where the boxes and the one who pushes them are."""

    boxes: frozenset[Cell]
    at: Cell


@dataclass(frozen=True)
class Room:
    """A room.

    Args:
        floor: cells without a wall.
        goals: cells where the boxes belong, one each.
    """

    floor: frozenset[Cell]
    goals: frozenset[Cell]

    @classmethod
    def drawn(cls, *rows: str) -> Room:
        """A room from its picture: `#` wall, `.` goal, a space for floor."""
        marks = {(row, column): mark for row, line in enumerate(rows) for column, mark in enumerate(line)}
        floor = frozenset(cell for cell, mark in marks.items() if mark != "#")
        return cls(floor, frozenset(cell for cell, mark in marks.items() if mark == "."))

    def pushed(self, now: Arrangement, step: str) -> Arrangement | None:
        """After a step, which pushes a box that is in the way; None where it can't be taken."""
        to = _beside(now.at, step)
        if to not in self.floor:
            return None
        if to not in now.boxes:
            return Arrangement(now.boxes, to)
        behind = _beside(to, step)
        if behind not in self.floor or behind in now.boxes:
            return None
        return Arrangement(now.boxes - {to} | {behind}, to)

    def before(self, now: Arrangement) -> list[Arrangement]:
        """Every arrangement from which one step leads here."""
        found: list[Arrangement] = []
        for down, right in STEPS.values():
            came = (now.at[0] - down, now.at[1] - right)
            if came in self.floor and came not in now.boxes:
                found.append(Arrangement(now.boxes, came))
                ahead = (now.at[0] + down, now.at[1] + right)
                if ahead in now.boxes:
                    found.append(Arrangement(now.boxes - {ahead} | {now.at}, came))
        return found


ROOMS = (
    Room.drawn(
        "#######",
        "#     #",
        "#  .  #",
        "#     #",
        "#     #",
        "#######",
    ),
    Room.drawn(
        "#######",
        "##   ##",
        "#  #  #",
        "#  .  #",
        "##    #",
        "#######",
    ),
    Room.drawn(
        "#######",
        "#   . #",
        "# # # #",
        "#     #",
        "#     #",
        "#######",
    ),
    Room.drawn(
        "#######",
        "#.    #",
        "# ##  #",
        "#    ##",
        "# .   #",
        "#######",
    ),
    Room.drawn(
        "########",
        "#  .   #",
        "#      #",
        "#   ####",
        "#.     #",
        "########",
    ),
)
"""The rooms, walls and goals alike in all worlds: what is lost in one of them is lost in it under every seed."""


def generate(seed: int) -> tuple[Room, Arrangement]:
    """A room, and where its boxes stand at first; solvable, since it was reached from a solved arrangement."""
    chance = random.Random(f"sokoban {seed}")
    room = chance.choice(ROOMS)
    ahead = distances(room)
    starts = [now for now, steps in ahead.items() if NEAREST <= steps <= FARTHEST and not now.boxes & room.goals]
    return room, chance.choice(sorted(starts, key=lambda now: (sorted(now.boxes), now.at)))


@lru_cache(maxsize=len(ROOMS))
def distances(room: Room) -> dict[Arrangement, int]:
    """The fewest steps to the end from each arrangement that can be won; the others are not in it."""
    layer = [Arrangement(room.goals, at) for at in room.floor - room.goals]
    found = dict.fromkeys(layer, 0)
    steps = 0
    while layer:
        steps += 1
        layer = list({before for now in layer for before in room.before(now) if before not in found})
        found.update(dict.fromkeys(layer, steps))
    return found


@lru_cache(maxsize=len(ROOMS))
def dead_cells(room: Room) -> frozenset[Cell]:
    """Cells from which a box can be pushed to no goal, even if it were the only one in the room."""
    alone = [distances(Room(room.floor, frozenset({goal}))) for goal in sorted(room.goals)]
    living = {box for ahead in alone for now in ahead for box in now.boxes}
    return room.floor - living


def _beside(cell: Cell, step: str) -> Cell:
    down, right = STEPS[step]
    return cell[0] + down, cell[1] + right


# A room of Sokoban as a world; it is lost as soon as no way of pushing is left.

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
