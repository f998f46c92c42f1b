"""HumanEvalFix (HumanEvalPack, arXiv 2308.07124), Python: each of 164 buggy functions as a small project."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from groundwire.benchmarks._base import Item, find_file, read_rows
from groundwire.core._candidates import Tree
from groundwire.core._sandboxes import Limits
from groundwire.core._tasks import Hidden, Task
from groundwire.logs._rows import Row


class HumanEvalFixRow(Row):
    """What is read of a row: everything but its canonical solution and docstring."""

    task_id: str = Field(min_length=1)
    declaration: str
    """Imports and signature."""
    buggy_solution: str = Field(min_length=1)
    """A body with one bug."""
    bug_type: str = ""
    entry_point: str = Field(min_length=1)
    test: str = Field(min_length=1)
    """Hidden; defines `check` and calls it."""
    example_test: str
    """Visible: asserts from the docstring."""

    def visible_tests(self) -> list[str]:
        """The asserts of the visible check, each with the statements before it that are no asserts."""
        # one row repeats a part of its solution before the check; nothing of that may be seen
        text = self.example_test[max(0, self.example_test.rfind("\ndef check(")) :].strip()
        functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
        found: list[str] = []
        setup: list[str] = []
        for statement in functions[0].body if functions else []:
            if not isinstance(statement, ast.Assert):
                setup.append(ast.unparse(statement))
            elif not isinstance(statement.test, ast.Constant):
                found.append("\n".join([*setup, ast.unparse(statement)]))
        return found

    def task(self, limits: Limits) -> Task:
        """The row as a project: the function without its docstring, a test for each visible assert, one hidden test."""
        tests = "".join(
            f"\n\ndef test_{number}():\n{textwrap.indent(body, '    ')}\n"
            for number, body in enumerate(self.visible_tests())
        )
        check, _, _ = self.test.rpartition(f"check({self.entry_point})")
        hidden = f"from solution import *\n{check}\n\ndef test_hidden():\n    check({self.entry_point})\n"
        files = {
            "solution.py": self.declaration + self.buggy_solution,
            "tests/test_visible.py": f"from solution import *\n{tests}",
            "conftest.py": "",
        }
        return Task(
            id=self.task_id,
            family="humanevalfix",
            prompt="Make the failing tests pass without changing the tests.",
            tree=Tree({path: text.encode() for path, text in files.items()}),
            command=("pytest", "-q", "tests"),
            hidden=Hidden(("pytest", "-q", "hidden"), Tree({"hidden/test_hidden.py": hidden.encode()})),
            limits=limits,
        )


@dataclass(frozen=True)
class HumanEvalFix:
    """Visible: the asserts of the docstring's examples. Hidden: the benchmark's own `check`.

    In 20 of the 164 rows the buggy function passes its visible tests, so that nothing is repaired there.

    Args:
        limits: ceilings of one judging.
    """

    limits: Limits = Limits(wall_s=10)
    name: str = "humanevalfix"
    files: tuple[str, ...] = ("humanevalpack_python.jsonl", "humanevalpack.jsonl")
    download: str = "https://github.com/bigcode-project/octopack (evaluation/create/humaneval-x/data/python/data)"
    repairs: bool = True

    def rows(self, data: Path) -> Iterator[HumanEvalFixRow]:
        """The rows; errors as `items`."""
        for row, _ in read_rows(HumanEvalFixRow, find_file(data, self.files, self), self.name):
            yield row

    def items(self, data: Path) -> Iterator[Item]:
        """See `Benchmark`."""
        for row in self.rows(data):
            yield Item(row.task(self.limits))
