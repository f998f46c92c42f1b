"""A maze as a world: walk, take a key, unlock the door, get out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

from groundwire.environments import Scene, Status
from groundwire.tools.environments.stateful import Stateful
from groundwire.tools.environments.world import World
from groundwire.tools.environments.worlds.maze.puzzle import FITS, Cell, Maze, generate

__all__ = ["WORLD", "InMaze", "begin"]

STEPS = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
LEGEND = "# wall, @ you, X way out, D locked door, keys: c copper, g gold, s silver"


@dataclass(frozen=True)
class InMaze:
    """Where one is in a maze, and what has been done there (`Position`).

    Args:
        maze: the maze.
        at: the cell.
        keys: keys that lie about, each with its cell, by metal.
        hand: the metal of the key that is held; empty for none.
        is_open: whether the door is.
        broke: the metal of the key that broke in the door, after which nothing opens it.
    """

    maze: Maze
    at: Cell
    keys: tuple[tuple[str, Cell], ...]
    hand: str = ""
    is_open: bool = False
    broke: str = ""

    @property
    def scene(self) -> Scene:
        """See `Position`."""
        colour = self.maze.colour
        if self.at == self.maze.exit:
            return Scene(f"{self._drawn()}\nYou are out.", Status.WON)
        if self.broke:
            why = f"The {self.broke} key broke off in the {colour} door, and nothing opens it any more."
            return Scene(f"{self._drawn()}\n{why}", Status.LOST)
        door = f"The {colour} door is {'open' if self.is_open else 'locked'}."
        held = f"You hold the {self.hand} key." if self.hand else "You hold nothing."
        here = "".join(f" Here lies the {metal} key." for metal, cell in self.keys if cell == self.at)
        return Scene(f"{self._drawn()}\n{LEGEND}\n{door} {held}{here}", actions=self._actions())

    def after(self, action: str) -> Self:
        """See `Position`."""
        if action not in self._actions():
            return self
        if action in STEPS:
            return replace(self, at=self._towards(action))
        if action.startswith("take"):
            return self._with_key(next(metal for metal, cell in self.keys if cell == self.at))
        if self.hand == FITS[self.maze.colour]:
            return replace(self, is_open=True, hand="")
        return replace(self, broke=self.hand, hand="")

    def _with_key(self, metal: str) -> Self:
        """One key at a time: the one that was held is left in its place."""
        keys = [(m, cell) for m, cell in self.keys if m != metal]
        if self.hand:
            keys.append((self.hand, self.at))
        return replace(self, keys=tuple(sorted(keys)), hand=metal)

    def _actions(self) -> tuple[str, ...]:
        here = [f"take {metal} key" for metal, cell in self.keys if cell == self.at]
        steps = [step for step in STEPS if self._is_free(self._towards(step))]
        can_unlock = self.hand and not self.is_open and self.at == self.maze.door[0]
        unlock = [f"unlock {self.maze.colour} door with {self.hand} key"] if can_unlock else []
        return (*steps, *here, *unlock)

    def _towards(self, step: str) -> Cell:
        down, right = STEPS[step]
        return self.at[0] + down, self.at[1] + right

    def _is_free(self, cell: Cell) -> bool:
        pair = frozenset((self.at, cell))
        return pair in self.maze.passages and (self.is_open or pair != frozenset(self.maze.door))

    def _drawn(self) -> str:
        maze = self.maze
        marks = {_middle(cell, cell): metal[0] for metal, cell in self.keys}
        marks[_middle(maze.exit, maze.exit)] = "X"
        if not self.is_open:
            marks[_middle(*maze.door)] = "D"
        marks[_middle(self.at, self.at)] = "@"
        rows = [list(row) for row in _walls(maze)]
        for (row, column), mark in marks.items():
            rows[row][column] = mark
        return "\n".join(map("".join, rows))


@lru_cache
def _walls(maze: Maze) -> tuple[str, ...]:
    """The maze from above: cells stand at odd places, what is between them at even ones."""
    free = {_middle(cell, cell) for cell in maze.cells} | {_middle(*passage) for passage in maze.passages}
    rows, columns = range(2 * maze.rows + 1), range(2 * maze.columns + 1)
    return tuple("".join(" " if (row, column) in free else "#" for column in columns) for row in rows)


def _middle(a: Cell, b: Cell) -> Cell:
    return a[0] + b[0] + 1, a[1] + b[1] + 1


def begin(seed: int) -> InMaze:
    """How the maze of that seed begins."""
    maze = generate(seed)
    return InMaze(maze, maze.start, maze.keys)


WORLD = World(
    name="maze",
    make=lambda: Stateful(begin),
    prompt="Find the way out of the maze. North is up; a step goes from one cell to the next, two characters on. The"
    " door needs a key: which metal fits depends on the door's colour, in all mazes alike, and a wrong key breaks. You"
    " hold one key at a time. An action: `north`, `take gold key`, `unlock red door with gold key`.",
    actions=45,
    about="a small maze with a locked door; which key fits which colour is the same in all of them",
)
