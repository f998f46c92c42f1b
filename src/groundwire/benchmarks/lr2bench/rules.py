"""What an answer to an LR²Bench puzzle must hold to, and how it is compared with the key.

A copy of this file goes into each task, and runs in the sandbox: it needs nothing but Python. An answer is JSON in the
family's published form; here it is looked at as cells, each with a name and a text.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, cast

__all__ = ["FAMILIES", "NamedCells", "cells_of", "matched", "problem", "rules_of"]

MAX_CHARS = 200_000
NamedCells = Mapping[str, str]
Puzzle = Mapping[str, Any]
"""`family`, `blank` (the form that is to be filled in), and what the family's rules need."""
Rule = Callable[[Puzzle, NamedCells], str]
"""What is wrong with the cells; empty where nothing is."""
LETTER = re.compile(r"[a-z]")
WORDS, LETTERS, TABLE, CIPHER, SUDOKU, DROP = FAMILIES = (
    "crossword",
    "acrostic",
    "logic",
    "cryptogram",
    "sudoku",
    "drop",
)
OPEN = {TABLE: "____", SUDOKU: "0"}
"""How a form shows a cell that is to be filled in; a drop quote shows the number of its column."""


def cells_of(family: str, value: Any) -> NamedCells:
    """An answer as cells, with case and spaces made equal.

    Args:
        family: one of `FAMILIES`.
        value: parsed JSON.

    Raises:
        ValueError: it has not the family's form; the message says where.
    """
    found: dict[str, str] = {}
    for name, one in _named(family, value):
        if name in found:
            raise ValueError(f"{name} is there twice")
        if isinstance(one, bool) or not isinstance(one, (str, int)):
            raise ValueError(f"{name} holds neither a text nor a number")
        text = " ".join(str(one).split()).casefold()
        found[name] = re.sub(r"[\W_]", "", text) if family == WORDS else text
    return found


def _named(family: str, value: Any) -> list[tuple[str, Any]]:
    if family in (WORDS, LETTERS, CIPHER):
        return [(name.strip().upper(), one) for name, one in _object(value, "the answer").items()]
    pairs: list[tuple[str, Any]] = []
    for number, row in enumerate(_list(value, "the answer"), start=1):
        where = f"row {number}"
        if family == TABLE:
            pairs += [(f"{where}, {name.strip().casefold()}", one) for name, one in _object(row, where).items()]
        else:
            pairs += [(f"{where}, column {at}", one) for at, one in enumerate(_list(row, where), start=1)]
    return pairs


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no JSON object")
    return cast("dict[str, Any]", value)


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{what} is no JSON list")
    return cast("list[Any]", value)


def read(puzzle: Puzzle, text: str) -> NamedCells:
    """The cells of an answer's text.

    Raises:
        ValueError: it is no JSON, or not of the family's form.
    """
    if len(text) > MAX_CHARS:
        raise ValueError(f"the answer has more than {MAX_CHARS} characters")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the answer is no JSON: {error}") from None
    return cells_of(puzzle["family"], value)


def problem(rule: str, puzzle: Puzzle, text: str) -> str:
    """How an answer's text breaks a rule; empty where it does not.

    Args:
        rule: one of `rules_of`.
        puzzle: what it answers.
        text: JSON, it is hoped.
    """
    try:
        return rules_of(puzzle["family"])[rule](puzzle, read(puzzle, text))
    except ValueError as error:
        return str(error)
    except LookupError:
        return "the puzzle is not of its family's form"


def matched(puzzle: Puzzle, key: Any, text: str) -> tuple[int, int]:
    """How many of the cells that the puzzle leaves open are as in the key, and how many there are.

    An answer that can't be read, or changes a cell that is given, has none.
    """
    right, family = cells_of(puzzle["family"], key), puzzle["family"]
    open_cells = [name for name in right if _is_open(family, cells_of(family, puzzle["blank"]).get(name, ""))]
    try:
        found = read(puzzle, text)
    except ValueError:
        return 0, len(open_cells)
    if (
        any(found.get(name) != one for name, one in right.items() if name not in open_cells)
        or found.keys() - right.keys()
    ):
        return 0, len(open_cells)
    return sum(found.get(name) == right[name] for name in open_cells), len(open_cells)


def _is_open(family: str, shown: str) -> bool:
    return shown.isdigit() if family == DROP else shown == OPEN.get(family, "")


def _form(puzzle: Puzzle, cells: NamedCells) -> str:
    blank = cells_of(puzzle["family"], puzzle["blank"])
    missing, more = blank.keys() - cells.keys(), cells.keys() - blank.keys()
    if missing or more:
        return f"{min(missing)} is missing" if missing else f"{min(more)} is no cell of the form"
    unfilled = ("", OPEN.get(puzzle["family"]))
    empty = next((name for name in blank if cells[name] in unfilled), None)
    return f"{empty} is empty" if empty else ""


def _given(puzzle: Puzzle, cells: NamedCells) -> str:
    family = puzzle["family"]
    blank = cells_of(family, puzzle["blank"])
    changed = next((n for n, one in blank.items() if not _is_open(family, one) and cells.get(n) != one), None)
    return f"{changed} is given as {blank[changed]!r}, and was changed" if changed else ""


def _single_letters(puzzle: Puzzle, cells: NamedCells) -> str:
    bad = next((name for name, one in cells.items() if not LETTER.fullmatch(one)), None)
    return f"{bad} holds {cells[bad]!r}, and not one letter from A to Z" if bad else ""


def _one_to_one(puzzle: Puzzle, cells: NamedCells) -> str:
    twice = next((one for one, count in Counter(cells.values()).items() if count > 1), None)
    return f"{twice.upper()} stands for more than one letter" if twice else ""


def _no_twin(puzzle: Puzzle, cells: NamedCells) -> str:
    """The rows, columns and boxes of a Sudoku."""
    size = len(puzzle["blank"])
    box = round(size**0.5)
    digits = {str(digit) for digit in range(1, size + 1)}
    grid = [[cells.get(f"row {r}, column {c}", "") for c in range(1, size + 1)] for r in range(1, size + 1)]
    corners = [(r, c) for r in range(0, size, box) for c in range(0, size, box)]
    units = [(f"row {r + 1}", grid[r]) for r in range(size)]
    units += [(f"column {c + 1}", [row[c] for row in grid]) for c in range(size)]
    units += [
        (f"the box of row {r + 1}, column {c + 1}", [grid[r + i][c + j] for i in range(box) for j in range(box)])
        for r, c in corners
    ]
    bad = next((name for name, unit in units if set(unit) != digits), None)
    return f"{bad} does not hold each digit from 1 to {size} once" if bad else ""


def _dropped(puzzle: Puzzle, cells: NamedCells) -> str:
    """The letters of each column of a drop quote."""
    blank = puzzle["blank"]
    for at, letters in enumerate(puzzle["columns"], start=1):
        rows = [r for r in range(1, len(blank) + 1) if str(blank[r - 1][at - 1]).isdigit()]
        if Counter(cells.get(f"row {r}, column {at}", "") for r in rows) != Counter(str(letters).casefold()):
            return f"column {at} does not hold the letters {' '.join(letters)} once each"
    return ""


def _each_once(puzzle: Puzzle, cells: NamedCells) -> str:
    """The values of a logic puzzle."""
    for header, values in puzzle["values"].items():
        column = [one for name, one in cells.items() if name.partition(", ")[2] == header.strip().casefold()]
        if sorted(column) != sorted(" ".join(str(value).split()).casefold() for value in values):
            return f"{header} does not hold each of its values once"
    return ""


def _word_cells(puzzle: Puzzle) -> dict[str, list[tuple[int, int]]]:
    """Where each word of a crossword stands, by its name."""
    grid = puzzle["grid"]
    found: dict[str, list[tuple[int, int]]] = {}
    for r, row in enumerate(grid):
        for c, mark in enumerate(row):
            for direction, (down, right) in (("ACROSS", (0, 1)), ("DOWN", (1, 0))):
                if str(mark).isdigit() and not _is_white(grid, r - down, c - right):
                    length = 1
                    while _is_white(grid, r + down * length, c + right * length):
                        length += 1
                    found[f"{mark}-{direction}"] = [(r + down * n, c + right * n) for n in range(length)]
    return found


def _is_white(grid: Any, row: int, column: int) -> bool:
    return 0 <= row < len(grid) and 0 <= column < len(grid[row]) and grid[row][column] != "#"


def _lengths(puzzle: Puzzle, cells: NamedCells) -> str:
    for name, places in _word_cells(puzzle).items():
        if name in cells and len(cells[name]) != len(places):
            return f"{name} has {len(places)} cells, and its word {len(cells[name])} letters"
    return ""


def _crossings(puzzle: Puzzle, cells: NamedCells) -> str:
    seen: dict[tuple[int, int], tuple[str, str]] = {}
    for name, places in _word_cells(puzzle).items():
        for place, letter in zip(places, cells.get(name, ""), strict=False):
            first, other = seen.setdefault(place, (letter, name))
            if first != letter:
                return f"{other} and {name} cross at row {place[0] + 1}, column {place[1] + 1} in different letters"
    return ""


RULES: Mapping[str, Mapping[str, Rule]] = {
    WORDS: {"lengths": _lengths, "crossings": _crossings},
    LETTERS: {"letters": _single_letters},
    TABLE: {"given": _given, "values": _each_once},
    CIPHER: {"letters": _single_letters, "one_to_one": _one_to_one},
    SUDOKU: {"given": _given, "digits": _no_twin},
    DROP: {"given": _given, "columns": _dropped},
}


def rules_of(family: str) -> Mapping[str, Rule]:
    """The rules of a family that the puzzle alone gives, by name; what they accept need not be the key."""
    return {"form": _form, **RULES[family]}
