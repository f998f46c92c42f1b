"""A maze as a world: mazes by seed, and walking, keys and doors in them."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Self

from groundwire.core._scenes import Scene, Status
from groundwire.tools.environments._world import World
from groundwire.tools.environments.worlds._playing import Playing, Refused

# Mazes by seed: a spanning tree of a small grid, a few loops, a door on the only way out, and keys before it.

Cell = tuple[int, int]
"""Row and column, from the north-west corner."""
Passage = frozenset[Cell]
"""Two cells with no wall between them."""

FITS = {"red": "silver", "green": "copper", "blue": "gold"}
"""Which key opens a door of which colour: in every maze, and no scene tells it. This is what can be learned."""
METALS = ("copper", "gold", "silver")
SIZES = ((3, 4), (4, 4), (4, 5))
LOOPS = 2


@dataclass(frozen=True)
class Maze:
    """One maze.

    Args:
        rows, columns: its size.
        passages: between which cells there is no wall; the door is one of them.
        start: where one begins.
        exit: where one wants to be.
        door: the cell before the door and the cell behind it; no other way leads from the one side to the other.
        colour: the door's.
        keys: where each key lies, by metal; all of them before the door.
    """

    rows: int
    columns: int
    passages: frozenset[Passage]
    start: Cell
    exit: Cell
    door: tuple[Cell, Cell]
    colour: str
    keys: tuple[tuple[str, Cell], ...]

    @property
    def cells(self) -> list[Cell]:
        """All of them, row by row."""
        return _grid(self.rows, self.columns)


def generate(seed: int) -> Maze:
    """The maze of that seed; the same in every process.

    The exit is a cell that lies farthest from the start, so that the only way there is long and ends in a dead end.
    """
    chance = random.Random(f"maze {seed}")
    rows, columns = chance.choice(SIZES)
    cells = _grid(rows, columns)
    tree = _tree(chance, cells)
    start = chance.choice(cells)
    ways = _ways(start, cells, tree)
    exit = max(cells, key=lambda cell: (len(ways[cell]), cell))
    near, far = chance.choice(_places_for_door(ways[exit], cells, tree))
    tree_before = tree - {frozenset((near, far))}
    before = sorted(_ways(start, cells, tree_before))
    behind = [cell for cell in cells if cell not in set(before)]
    walls = [wall for side in (before, behind) for wall in _neighbours(side) if wall not in tree]
    loops = chance.sample(walls, min(len(walls), chance.randint(0, LOOPS)))
    places = chance.sample([cell for cell in before if cell != start], len(METALS))
    colour = chance.choice(sorted(FITS))
    keys = tuple(zip(METALS, places, strict=True))
    return Maze(rows, columns, frozenset(tree.union(loops)), start, exit, (near, far), colour, keys)


def _grid(rows: int, columns: int) -> list[Cell]:
    return [(row, column) for row in range(rows) for column in range(columns)]


def _neighbours(cells: Iterable[Cell]) -> list[Passage]:
    """Pairs of cells that lie side by side, always in the same order."""
    among = sorted(cells)
    pairs = [((r, c), other) for r, c in among for other in ((r, c + 1), (r + 1, c)) if other in set(among)]
    return [frozenset(pair) for pair in pairs]


def _tree(chance: random.Random, cells: list[Cell]) -> frozenset[Passage]:
    """A spanning tree by a random walk that turns back in dead ends: long corridors, few crossings."""
    free = _neighbours(cells)
    way = [chance.choice(cells)]
    seen = {way[0]}
    passages: set[Passage] = set()
    while way:
        onward = [pair for pair in free if way[-1] in pair and not pair <= seen]
        if not onward:
            way.pop()
            continue
        taken = chance.choice(onward)
        (following,) = taken - seen
        passages.add(taken)
        seen.add(following)
        way.append(following)
    return frozenset(passages)


def _ways(start: Cell, cells: list[Cell], passages: frozenset[Passage]) -> dict[Cell, list[Cell]]:
    """The shortest way to each cell that can be reached."""
    ways = {start: [start]}
    waiting = deque([start])
    while waiting:
        at = waiting.popleft()
        for cell in cells:
            if cell not in ways and frozenset((at, cell)) in passages:
                ways[cell] = [*ways[at], cell]
                waiting.append(cell)
    return ways


def _places_for_door(way: list[Cell], cells: list[Cell], tree: frozenset[Passage]) -> list[tuple[Cell, Cell]]:
    """Steps of the way out before which there is room for the start and all keys; the last step always is one."""
    steps = list(pairwise(way))
    room = [len(_ways(way[0], cells, tree - {frozenset(step)})) for step in steps]
    return [step for step, count in zip(steps, room, strict=True) if count > len(METALS)]


# A maze as a world: walk, take a key, unlock the door, get out.

STEPS = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
LEGEND = "# wall, @ you, X way out, D locked door, keys: c copper, g gold, s silver"


@dataclass(frozen=True)
class InMaze:
    """Where one is in a maze, and what has been done there (`Position`).

    Args:
        maze: the maze.
        at: the cell.
        keys: keys that lie about, each with its cell, by metal.
        held: the metals of the keys that are held.
        is_open: whether the door is.
        broke: the metal of the key that broke in the door, after which nothing opens it.
    """

    maze: Maze
    at: Cell
    keys: tuple[tuple[str, Cell], ...]
    held: tuple[str, ...] = ()
    is_open: bool = False
    broke: str = ""

    def scene(self) -> Scene:
        """See `Position`."""
        colour = self.maze.colour
        if self.at == self.maze.exit:
            return Scene(f"{self._drawn()}\nYou are out.", Status.WON)
        if self.broke:
            why = f"The {self.broke} key broke off in the {colour} door, and nothing opens it any more."
            return Scene(f"{self._drawn()}\n{why}", Status.LOST)
        door = f"The {colour} door is {'open' if self.is_open else 'locked'}."
        held = f"You hold {' and '.join(f'the {metal} key' for metal in self.held) or 'no key'}."
        here = "".join(f" Here lies the {metal} key." for metal, cell in self.keys if cell == self.at)
        return Scene(f"{self._drawn()}\n{LEGEND}\n{door} {held}{here}", actions=self._actions())

    def after(self, action: str) -> Self:
        """See `Position`."""
        if action not in self._actions():
            raise Refused(self._why_not(action))
        if action in STEPS:
            return replace(self, at=self._along(self._towards(action)))
        metal = action.split()[-2]
        if action.startswith("take"):
            keys = tuple(key for key in self.keys if key[0] != metal)
            return replace(self, keys=keys, held=tuple(sorted((*self.held, metal))))
        held = tuple(each for each in self.held if each != metal)
        if metal == FITS[self.maze.colour]:
            return replace(self, is_open=True, held=held)
        return replace(self, broke=metal, held=held)

    def _actions(self) -> tuple[str, ...]:
        steps = [step for step in STEPS if self._is_free(self.at, self._towards(step))]
        here = [f"take {metal} key" for metal, cell in self.keys if cell == self.at]
        is_at_lock = not self.is_open and self.at == self.maze.door[0]
        keys = [f"unlock {self.maze.colour} door with {metal} key" for metal in self.held if is_at_lock]
        return (*steps, *here, *keys)

    def _why_not(self, action: str) -> str:
        if action not in STEPS:
            return "that can't be done here."
        is_door = {self.at, self._towards(action)} == set(self.maze.door)
        return f"{action} of you is {'the locked door' if is_door else 'a wall'}."

    def _towards(self, step: str) -> Cell:
        down, right = STEPS[step]
        return self.at[0] + down, self.at[1] + right

    def _along(self, to: Cell) -> Cell:
        """Where a walk that sets out for the next cell ends: where there is something to decide or to see.

        It ends indeed: walking round a loop one comes to the crossing where the rest of the maze is joined to it.
        """
        came, at = self.at, to
        while at not in self._sights and len(onward := self._beside(at)) == 2:
            came, at = at, next(cell for cell in onward if cell != came)
        return at

    @property
    def _sights(self) -> tuple[Cell, ...]:
        return (self.maze.exit, *self.maze.door, *(cell for _, cell in self.keys))

    def _beside(self, at: Cell) -> list[Cell]:
        around = [(at[0] + down, at[1] + right) for down, right in STEPS.values()]
        return [cell for cell in around if self._is_free(at, cell)]

    def _is_free(self, a: Cell, b: Cell) -> bool:
        pair = frozenset((a, b))
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
    make=lambda: Playing(begin),
    prompt="Find the way out of the maze. North is up. A step leads along the corridor, round its corners, to the next"
    " crossing, dead end, key or door. The door needs a key: which metal fits depends on the door's colour, in all"
    " mazes alike, and a wrong key breaks in it. An action: `north`, `take gold key`, `unlock red door with gold key`.",
    actions=40,
    about="a small maze with a locked door; which key fits which colour is the same in all of them",
)
