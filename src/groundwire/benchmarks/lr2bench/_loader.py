"""LR²Bench: its files as they are published, and its puzzles as tasks.

Fields of a puzzle's row that give the answer away (`answer`, `mapping`) are not read.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, cast

from pydantic import Field

from groundwire.benchmarks._base import Item, find_file, read_rows
from groundwire.benchmarks.lr2bench.rules import FAMILIES, cells_of, matched, problem, rules_of
from groundwire.core._candidates import Tree
from groundwire.core._errors import TaskError
from groundwire.core._sandboxes import Limits
from groundwire.core._tasks import Hidden, Task
from groundwire.core._text import json_value, lines_of
from groundwire.logs._functions import BARE_PYTHON
from groundwire.logs._rows import LogRow, checked

ANSWER = "answer.json"
PUZZLES = "data.jsonl"
NAME = "lr2bench"


class PuzzleRow(LogRow):
    """What is read of a puzzle: nothing of its answer."""

    tag: str | int
    example_text: str = Field(min_length=1)
    """The puzzle in words, as the paper's prompts show it."""
    grid: list[list[str | int]] = Field(default_factory=list[list[str | int]])
    candidate: list[str] = Field(default_factory=list)
    value: dict[str, list[str]] = Field(default_factory=dict)


class _KeyRow(LogRow):
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
        raise TaskError(f"{path} is not a JSON object of families.", do="Fetch it again.")
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


# LR²Bench's puzzles as tasks: a form in `answer.json` is to be filled in; a puzzle's own rules are its visible tests.
#
# What a puzzle's rules can tell without its key (letters that cross, digits of a row) steers, as code that ran;
# whether the answer is the published one is judged once, at the end.

FORMS = {
    "crossword": 'the word of each clue, in capital letters without spaces: {"1-ACROSS": "WORD", …}',
    "acrostic": 'the letter of each number: {"1": "A", …}',
    "logic": "the table, with every ____ replaced by a value",
    "cryptogram": 'for each letter of the cryptogram the letter that it stands for: {"X": "T", …}',
    "sudoku": "the grid, with every 0 replaced by a digit",
    "drop": "the grid, with every number replaced by a letter",
}


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

    def published(self, data: Path) -> Iterator[Published]:
        """The puzzles with their answers, for scoring; arguments and errors as `items`."""
        return published(find_file(data, (ANSWER,), self), self.download)

    def items(self, data: Path) -> Iterator[Item]:
        """See `Benchmark`."""
        source = (resources("groundwire.benchmarks.lr2bench") / "rules.py").read_bytes()
        for one in self.published(data):
            yield Item(self._task(one, source), one.family)

    def _task(self, one: Published, source: bytes) -> Task:
        visible = {
            ANSWER: f"{json.dumps(one.puzzle['blank'], indent=1, ensure_ascii=False)}\n".encode(),
            "tests/rules.py": source,
            "tests/test_rules.py": _visible(one).encode(),
        }
        hidden = {"hidden/rules.py": source, "hidden/test_hidden.py": _hidden(one).encode()}
        return Task(
            id=one.id,
            family=f"lr2bench-{one.family}",
            prompt=f"{one.text}\n\nFill in {ANSWER}, as JSON: {FORMS[one.family]}.",
            tree=Tree(visible),
            command=(*BARE_PYTHON, "tests.test_rules"),
            editable=(ANSWER,),
            hidden=Hidden((*BARE_PYTHON, "hidden.test_hidden"), Tree(hidden)),
            limits=self.limits,
        )


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


def _visible(one: Published) -> str:
    # where a published answer breaks a rule of its own puzzle, that rule can't be asked for
    kept = [rule for rule in rules_of(one.family) if not problem(rule, one.puzzle, json.dumps(one.key))]
    cases = "".join(f"\n    def test_{rule}(self):\n        self.check({rule!r})\n" for rule in kept)
    return VISIBLE.format(puzzle=json.dumps(one.puzzle), answer=ANSWER) + cases


def _hidden(one: Published) -> str:
    return HIDDEN.format(puzzle=json.dumps(one.puzzle), key=json.dumps(one.key), answer=ANSWER)
