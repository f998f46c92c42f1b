"""Grids of Sudoku: what each cell may hold, a solver that finds every solution, and a generator."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from math import isqrt

__all__ = ["EMPTY", "Grid", "candidates", "generate", "peers", "problem", "size_of", "solutions"]

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
