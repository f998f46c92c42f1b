"""Mazes by seed: a spanning tree of a small grid, a few loops, a door on the only way out, and keys before it."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["FITS", "METALS", "Cell", "Maze", "generate"]

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
