"""LR²Bench's files as tasks: a form in `answer.json` is to be filled in; the puzzle's own rules are the visible tests.

What a puzzle's rules can tell without its key (letters that cross, digits of a row) steers, as code that ran; whether
the answer is the published one is judged once, at the end. Fields of the data that give the answer away (`answer`,
`mapping`) are not read.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, cast

from pydantic import Field

from groundwire.benchmarks.base import Item, find_file, read_rows
from groundwire.benchmarks.lr2bench.rules import FAMILIES, cells_of, problem, rules_of
from groundwire.errors import TaskError
from groundwire.limits import Limits
from groundwire.logs.functions import BARE_PYTHON
from groundwire.logs.rows import Row, checked
from groundwire.tasks import Hidden, Task
from groundwire.textlines import json_value, lines_of
from groundwire.trees import Tree

__all__ = ["ANSWER", "Lr2Bench", "PuzzleRow", "puzzle_of"]

ANSWER = "answer.json"
PUZZLES = "data.jsonl"
FORMS = {
    "crossword": 'the word of each clue, in capital letters without spaces: {"1-ACROSS": "WORD", …}',
    "acrostic": 'the letter of each number: {"1": "A", …}',
    "logic": "the table, with every ____ replaced by a value",
    "cryptogram": 'for each letter of the cryptogram the letter that it stands for: {"X": "T", …}',
    "sudoku": "the grid, with every 0 replaced by a digit",
    "drop": "the grid, with every number replaced by a letter",
}


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
class Lr2Bench:
    """850 constraint puzzles of six families; the split of an item is its family.

    Args:
        limits: ceilings of one judging.
    """

    limits: Limits = Limits(cpu_s=10)
    name: str = "lr2bench"
    files: tuple[str, ...] = (ANSWER, PUZZLES)
    download: str = "https://github.com/ZNLP/LR2Bench (the folder data)"
    repairs: bool = False

    def items(self, data: Path) -> Iterator[Item]:
        """See `Benchmark`."""
        keys_file = find_file(data, (ANSWER,), self)
        keys = _keys(keys_file)
        seen: Counter[str] = Counter()
        for family in FAMILIES:
            for path in sorted(keys_file.parent.glob(f"*{family}/*/{PUZZLES}")):
                level = path.parent.name
                for row, where in read_rows(PuzzleRow, path, self.name):
                    place = (family, level, str(row.tag))
                    if not keys.get(place):
                        raise TaskError(f"{where}: {keys_file} holds no answer to it.", do=f"See {self.download}.")
                    name = "/".join(place)
                    seen[name] += 1
                    number = f"-{seen[name]}" if seen[name] > 1 else ""
                    yield Item(self._task(f"{name}{number}", family, row, keys[place].pop(0), where), family)
        if not seen:
            raise TaskError(
                f"There is no puzzle beside {keys_file}: {PUZZLES} of a family and a level.",
                do=f"Fetch all of the folder from {self.download}.",
            )

    def _task(self, name: str, family: str, row: PuzzleRow, key: object, where: str) -> Task:
        puzzle = puzzle_of(family, row, key)
        try:
            cells_of(family, key)
        except ValueError as error:
            raise TaskError(f"{where}: its published answer can't be used: {error}.") from error
        # where a published answer breaks a rule of its own puzzle, that rule can't be asked for
        kept = [rule for rule in rules_of(family) if not problem(rule, puzzle, json.dumps(key))]
        source = (resources("groundwire.benchmarks.lr2bench") / "rules.py").read_bytes()
        visible = {
            ANSWER: f"{json.dumps(puzzle['blank'], indent=1, ensure_ascii=False)}\n".encode(),
            "tests/rules.py": source,
            "tests/test_rules.py": _visible(puzzle, kept).encode(),
        }
        hidden = {"hidden/rules.py": source, "hidden/test_hidden.py": _hidden(puzzle, key).encode()}
        return Task(
            id=name,
            family=f"lr2bench-{family}",
            prompt=f"{row.example_text.strip()}\n\nFill in {ANSWER}, as JSON: {FORMS[family]}.",
            tree=Tree(visible),
            command=(*BARE_PYTHON, "tests.test_rules"),
            editable=(ANSWER,),
            hidden=Hidden((*BARE_PYTHON, "hidden.test_hidden"), Tree(hidden)),
            limits=self.limits,
        )


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


VISIBLE = """import json
import unittest
from pathlib import Path

from tests.rules import problem

PUZZLE = json.loads({puzzle!r})


class Rules(unittest.TestCase):
    def check(self, rule):
        wrong = problem(rule, PUZZLE, Path("{answer}").read_text(encoding="utf-8", errors="replace"))
        if wrong:
            self.fail(wrong)
"""
HIDDEN = """import json
import unittest
from pathlib import Path

from hidden.rules import matched

PUZZLE = json.loads({puzzle!r})
KEY = json.loads({key!r})


class Hidden(unittest.TestCase):
    def test_exact_match(self):
        right, of = matched(PUZZLE, KEY, Path("{answer}").read_text(encoding="utf-8", errors="replace"))
        self.assertEqual(right, of, "cells that are as in the key, of those that are open")
"""


def _visible(puzzle: Mapping[str, Any], rules: Sequence[str]) -> str:
    cases = "".join(f"\n    def test_{rule}(self):\n        self.check({rule!r})\n" for rule in rules)
    return VISIBLE.format(puzzle=json.dumps(puzzle), answer=ANSWER) + cases


def _hidden(puzzle: Mapping[str, Any], key: object) -> str:
    return HIDDEN.format(puzzle=json.dumps(puzzle), key=json.dumps(key), answer=ANSWER)
