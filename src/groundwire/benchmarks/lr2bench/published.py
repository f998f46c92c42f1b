"""LR²Bench's files as they are published: puzzles by family and level, and one file of answers.

Fields of a puzzle's row that give the answer away (`answer`, `mapping`) are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import Field

from groundwire.benchmarks.base import read_rows
from groundwire.benchmarks.lr2bench.rules import FAMILIES, cells_of, matched
from groundwire.core.errors import TaskError
from groundwire.core.text import json_value, lines_of
from groundwire.logs.rows import Row, checked

__all__ = ["ANSWER", "PUZZLES", "Match", "Published", "PuzzleRow", "published", "puzzle_of"]

ANSWER = "answer.json"
PUZZLES = "data.jsonl"
NAME = "lr2bench"


class PuzzleRow(Row):
    """What is read of a puzzle: nothing of its answer."""

    tag: str | int
    example_text: str = Field(min_length=1)
    """The puzzle in words, as the paper's prompts show it."""
    grid: list[list[str | int]] = Field(default_factory=list[list[str | int]])
    candidate: list[str] = Field(default_factory=list)
    value: dict[str, list[str]] = Field(default_factory=dict)


class _KeyRow(Row):
    tag: str | int
    level: str
    answer: str


@dataclass(frozen=True)
class Match:
    """How much of an answer is as in the key.

    Args:
        right: cells that are, of those that the puzzle leaves open: words, letters or values.
        of: all of these.
    """

    right: int
    of: int

    @property
    def exact(self) -> bool:
        """All are (EM)."""
        return self.right == self.of

    def partial(self, share: float = 0.5) -> bool:
        """At least that share is (PM-0.5 of the paper)."""
        return self.right >= share * self.of


@dataclass(frozen=True)
class Published:
    """A puzzle with its answer.

    Args:
        id: family, level and tag.
        family: one of `FAMILIES`.
        text: the puzzle in words.
        puzzle: as its rules read it.
        key: the published answer.
    """

    id: str
    family: str
    text: str
    puzzle: Mapping[str, Any]
    key: object

    def match(self, answer: str) -> Match:
        """Compares an answer's text with the key; case and spaces make no difference. One that can't be read, or that
        changes what is given, has nothing right."""
        return Match(*matched(self.puzzle, self.key, answer))


def published(answers: Path, download: str) -> Iterator[Published]:
    """All puzzles, family by family.

    Args:
        answers: the file of answers; the puzzles' folders lie beside it.
        download: where all of it is published, for messages.

    Raises:
        TaskError: there is no puzzle, or one has no answer that can be used.
        RecordingError: a file is damaged, or a row lacks something; with its place.
    """
    keys = _keys(answers)
    seen: Counter[str] = Counter()
    for family in FAMILIES:
        for path in sorted(answers.parent.glob(f"*{family}/*/{PUZZLES}")):
            for row, where in read_rows(PuzzleRow, path, NAME):
                place = (family, path.parent.name, str(row.tag))
                if not keys.get(place):
                    raise TaskError(f"{where}: {answers} holds no answer to it.", do=f"See {download}.")
                name = "/".join(place)
                seen[name] += 1
                yield _published(
                    f"{name}-{seen[name]}" if seen[name] > 1 else name, family, row, keys[place].pop(0), where
                )
    if not seen:
        raise TaskError(
            f"There is no puzzle beside {answers}: {PUZZLES} of a family and a level.",
            do=f"Fetch all of the folder from {download}.",
        )


def _published(name: str, family: str, row: PuzzleRow, key: object, where: str) -> Published:
    try:
        cells_of(family, key)
    except ValueError as error:
        raise TaskError(f"{where}: its published answer can't be used: {error}.") from error
    return Published(name, family, row.example_text.strip(), puzzle_of(family, row, key), key)


def puzzle_of(family: str, row: PuzzleRow, key: object) -> dict[str, Any]:
    """The puzzle as its rules read it: the form to be filled in, and what is given.

    Args:
        family: one of `FAMILIES`.
        row: the puzzle.
        key: its answer, of which the names of the cells are taken where a puzzle gives them in prose (clues, letters).
    """
    puzzle: dict[str, Any] = {"family": family}
    if family == "logic":
        headers = list(row.value)
        first = row.value[headers[0]] if headers else []
        return {
            **puzzle,
            "values": row.value,
            "blank": [{headers[0]: one, **dict.fromkeys(headers[1:], "____")} for one in first],
        }
    if family in ("sudoku", "drop"):
        return {**puzzle, "blank": row.grid, **({"columns": row.candidate} if family == "drop" else {})}
    names = list(cast("Mapping[str, object]", key)) if isinstance(key, Mapping) else []
    return {**puzzle, "blank": dict.fromkeys(names, ""), **({"grid": row.grid} if family == "crossword" else {})}


def _keys(path: Path) -> dict[tuple[str, str, str], list[object]]:
    """The published answers by family, level and tag; several where a tag comes again."""
    parsed = json_value("\n".join(line for _, line in lines_of(path)), str(path))
    if not isinstance(parsed, dict):
        raise TaskError(f"{path} is no JSON object of families.", do="Fetch it again.")
    found: dict[tuple[str, str, str], list[object]] = {}
    for name, rows in cast("dict[str, object]", parsed).items():
        family = next((one for one in FAMILIES if name.startswith(one)), None)
        for number, fields in enumerate(cast("list[object]", rows) if isinstance(rows, list) else (), start=1):
            where = f"{path}, {name} {number}"
            row = checked(_KeyRow, fields, where, "the benchmark lr2bench")
            if family is not None:
                key = json_value(row.answer, where)
                if family == "sudoku" and isinstance(key, dict):  # published with the puzzle beside it
                    key = cast("dict[str, object]", key).get("answer")
                found.setdefault((family, row.level, str(row.tag)), []).append(key)
    return found
