"""Sudoku: its grids, a solver that finds every solution, a generator, and how it is played."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from math import isqrt
from typing import Self

from groundwire.core._scenes import Scene, Status
from groundwire.tools.environments._world import World
from groundwire.tools.environments.worlds._playing import Playing, Refused

# Grids of Sudoku: what each cell may hold, a solver that finds every solution, and a generator.

Grid = tuple[int, ...]
"""Cells by rows; 0: empty."""
EMPTY = 0


def size_of(grid: Sequence[int]) -> int:
    """Rows of a grid: 4 or 9."""
    return isqrt(len(grid))


@cache
def units(size: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Rows, columns and boxes, each with its name and cells."""
    box = isqrt(size)
    rows = [(f"row {r + 1}", tuple(r * size + c for c in range(size))) for r in range(size)]
    columns = [(f"column {c + 1}", tuple(r * size + c for r in range(size))) for c in range(size)]
    boxes = [
        (
            f"the box of row {r + 1}, column {c + 1}",
            tuple((r + i) * size + c + j for i in range(box) for j in range(box)),
        )
        for r in range(0, size, box)
        for c in range(0, size, box)
    ]
    return (*rows, *columns, *boxes)


@cache
def peers(size: int) -> tuple[tuple[int, ...], ...]:
    """By cell, the cells that may not hold the same digit."""
    return tuple(
        tuple(sorted({other for _, cells in units(size) if cell in cells for other in cells} - {cell}))
        for cell in range(size * size)
    )


def candidates(grid: Sequence[int], cell: int) -> list[int]:
    """The digits that an empty cell may hold, as far as the filled ones say."""
    size = size_of(grid)
    seen = {grid[peer] for peer in peers(size)[cell]}
    return [digit for digit in range(1, size + 1) if digit not in seen]


def problem(grid: Sequence[int]) -> str:
    """Which rule a grid breaks, full or not; empty where none."""
    for name, cells in units(size_of(grid)):
        held = [grid[cell] for cell in cells if grid[cell] != EMPTY]
        twice = next((digit for digit in held if held.count(digit) > 1), None)
        if twice is not None:
            return f"{name} holds {twice} twice"
    return ""


def solutions(grid: Grid, shuffled: random.Random | None = None) -> Iterator[Grid]:
    """Every way to fill a grid, each once.

    Args:
        grid: it breaks no rule so far.
        shuffled: takes the digits in a random order, not from 1 up.
    """
    return _fill(list(grid), shuffled)


def _fill(cells: list[int], shuffled: random.Random | None) -> Iterator[Grid]:
    open_cells = [cell for cell, digit in enumerate(cells) if digit == EMPTY]
    if not open_cells:
        yield tuple(cells)
        return
    options: list[int] = []
    chosen = -1
    for cell in open_cells:  # the one with the fewest digits first
        found = candidates(cells, cell)
        if chosen < 0 or len(found) < len(options):
            options, chosen = found, cell
        if len(options) < 2:
            break
    if shuffled is not None:
        shuffled.shuffle(options)
    for digit in options:
        cells[chosen] = digit
        yield from _fill(cells, shuffled)
    cells[chosen] = EMPTY


def generate(size: int, clues: int, draw: random.Random) -> Grid:
    """A puzzle with exactly one solution.

    Args:
        size: 4 or 9.
        clues: it has at least as many; more where one less would leave two solutions.
        draw: every choice.
    """
    puzzle = list(next(solutions((EMPTY,) * size * size, draw)))
    order = list(range(size * size))
    draw.shuffle(order)
    for cell in order:
        if sum(digit != EMPTY for digit in puzzle) <= clues:
            break
        digit, puzzle[cell] = puzzle[cell], EMPTY
        if len(list(islice(solutions(tuple(puzzle)), 2))) > 1:
            puzzle[cell] = digit
    return tuple(puzzle)


# Playing Sudoku: a digit is placed, or the whole grid is given at once.

CLUES = {4: 6, 9: 36}
"""Fewest digits that a puzzle shows, by its size."""
PLACE = re.compile(r"\s*place\s+([0-9])\s*,\s*([0-9])\s*,\s*([0-9])\s*", re.IGNORECASE)
WHOLE = re.compile(r"[0-9\s,;|\[\]]*")


def place(row: int, column: int, digit: int) -> str:
    """The action; all counted from 1."""
    return f"place {row},{column},{digit}"


@dataclass(frozen=True)
class SudokuPosition:
    """A grid that is being filled.

    Args:
        given: the puzzle.
        grid: as it stands.
        wrong: what is wrong with a whole grid that was given as the answer; empty: nothing.
    """

    given: Grid
    grid: Grid
    wrong: str = ""

    @property
    def size(self) -> int:
        """Rows."""
        return size_of(self.grid)

    def scene(self) -> Scene:
        """See `Position`."""
        if self.wrong:
            return Scene(f"{self._drawn()}\n\nThe grid is wrong: {self.wrong}.", Status.LOST)
        options = {c: candidates(self.grid, c) for c, digit in enumerate(self.grid) if digit == EMPTY}
        if not options:
            return Scene(f"{self._drawn()}\n\nThe grid is full, and every rule holds.", Status.WON)
        for cell, digits in options.items():
            if not digits:
                return Scene(f"{self._drawn()}\n\nNo digit fits {self._name(cell)} any more.", Status.LOST)
        hints = [place(*self._at(cell), digit) for cell, digits in options.items() for digit in digits]
        return Scene(self._drawn(), Status.RUNNING, tuple(hints))

    def after(self, action: str) -> Self:
        """See `Position`."""
        if found := PLACE.fullmatch(action):
            return self._placed(*map(int, found.groups()))
        digits = [int(digit) for digit in re.findall("[0-9]", action)]
        if WHOLE.fullmatch(action) and len(digits) == len(self.grid):
            return self._filled(tuple(digits))
        raise Refused(f"an action is {place(1, 2, 3)} (row, column, digit), or all {len(self.grid)} digits by rows.")

    def _placed(self, row: int, column: int, digit: int) -> Self:
        if not all(1 <= number <= self.size for number in (row, column, digit)):
            raise Refused(f"rows, columns and digits go from 1 to {self.size}.")
        cell = (row - 1) * self.size + column - 1
        if self.grid[cell] != EMPTY:
            raise Refused(f"{self._name(cell)} holds {self.grid[cell]} already.")
        for peer in peers(self.size)[cell]:
            if self.grid[peer] == digit:
                raise Refused(f"{digit} stands at {self._name(peer)} already, which {self._name(cell)} sees.")
        return replace(self, grid=(*self.grid[:cell], digit, *self.grid[cell + 1 :]))

    def _filled(self, grid: Grid) -> Self:
        changed = next((c for c, digit in enumerate(self.given) if digit not in (EMPTY, grid[c])), None)
        wrong = ""
        if changed is not None:
            wrong = f"{self._name(changed)} is given as {self.given[changed]}, and holds {grid[changed]}"
        elif not all(1 <= digit <= self.size for digit in grid):
            wrong = f"the digits go from 1 to {self.size}"
        else:
            wrong = problem(grid)
        return replace(self, grid=grid, wrong=wrong)

    def _at(self, cell: int) -> tuple[int, int]:
        return cell // self.size + 1, cell % self.size + 1

    def _name(self, cell: int) -> str:
        row, column = self._at(cell)
        return f"row {row}, column {column}"

    def _drawn(self) -> str:
        rows = (self.grid[at : at + self.size] for at in range(0, len(self.grid), self.size))
        return "\n".join(" ".join(str(digit or ".") for digit in row) for row in rows)


@lru_cache(maxsize=256)
def begin(size: int, seed: int) -> SudokuPosition:
    """The first position of a seed; positions never change, so that all may share it."""
    given = generate(size, CLUES[size], random.Random(f"sudoku-{size}/{seed}"))
    return SudokuPosition(given, given)


def _world(name: str, size: int) -> World:
    cells = size * size
    return World(
        name=name,
        make=lambda: Playing(lambda seed: begin(size, seed)),
        prompt=(
            f"Fill the grid so that every row, every column and every box holds each digit from 1 to {size} once; a dot"
            " is an empty cell. An action places a digit: place ROW,COLUMN,DIGIT, counted from 1, for example:"
            f" {place(1, 2, 3)}. Or give the whole grid as one action: its {cells} digits by rows, on one line."
        ),
        actions=cells - CLUES[size] + 10,
        about=f"Sudoku, {size}x{size}; exactly one solution",
    )


WORLD = _world("sudoku", 4)
WORLD_9 = _world("sudoku-9", 9)
