"""LR²Bench's puzzles as tasks: a form in `answer.json` is to be filled in; a puzzle's own rules are its visible tests.

What a puzzle's rules can tell without its key (letters that cross, digits of a row) steers, as code that ran; whether
the answer is the published one is judged once, at the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path

from groundwire.benchmarks.base import Item, find_file
from groundwire.benchmarks.lr2bench.published import ANSWER, PUZZLES, Published, published
from groundwire.benchmarks.lr2bench.rules import problem, rules_of
from groundwire.core.candidates import Tree
from groundwire.core.sandboxes import Limits
from groundwire.core.tasks import Hidden, Task
from groundwire.logs.functions import BARE_PYTHON

__all__ = ["Lr2Bench"]

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
