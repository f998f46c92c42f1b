"""HumanEvalFix as tasks: each buggy function of HumanEvalPack's Python part as a small project."""

from __future__ import annotations

import ast
import json
import random
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from groundwire.limits import Limits
from groundwire.tasks import Hidden, Task
from groundwire.trees import Tree

__all__ = ["DATA", "Row", "halves", "load", "project", "visible_tests"]

DATA = Path(__file__).parents[2] / "shared" / "data" / "humanevalpack" / "humanevalpack_python.jsonl"
Row = Mapping[str, str]


def load(path: Path) -> list[Row]:
    """All rows."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def halves(rows: Sequence[Row], seed: int) -> Mapping[str, int]:
    """Task id → the half it is in, 0 or 1: a random half of all tasks, the same for the same seed."""
    ids = [row["task_id"] for row in rows]
    random.Random(seed).shuffle(ids)
    return {name: int(place >= len(ids) // 2) for place, name in enumerate(ids)}


def visible_tests(row: Row) -> list[str]:
    """The asserts of the visible check, each with the statements before it that are no asserts."""
    # one row repeats a part of its solution before the check; nothing of that may be seen
    text = row["example_test"]
    text = text[max(0, text.rfind("\ndef check(")) :].strip()
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    found: list[str] = []
    setup: list[str] = []
    for statement in functions[0].body if functions else []:
        if not isinstance(statement, ast.Assert):
            setup.append(ast.unparse(statement))
        elif not isinstance(statement.test, ast.Constant):
            found.append("\n".join([*setup, ast.unparse(statement)]))
    return found


def project(row: Row, limits: Limits) -> Task:
    """The task as a project: the function without its docstring, a test for each visible assert, one hidden test.

    The row's canonical solution is never read.
    """
    tests = "".join(
        f"\n\ndef test_{number}():\n{textwrap.indent(body, '    ')}\n" for number, body in enumerate(visible_tests(row))
    )
    check, _, _ = row["test"].rpartition(f"check({row['entry_point']})")
    hidden = f"from solution import *\n{check}\n\ndef test_hidden():\n    check({row['entry_point']})\n"
    files = {
        "solution.py": row["declaration"] + row["buggy_solution"],
        "tests/test_visible.py": f"from solution import *\n{tests}",
        "conftest.py": "",
    }
    return Task(
        id=row["task_id"],
        family="humanevalfix",
        tree=Tree({path: text.encode() for path, text in files.items()}),
        command=("pytest", "-q", "tests"),
        hidden=Hidden(("pytest", "-q", "hidden"), Tree({"hidden/test_hidden.py": hidden.encode()})),
        limits=limits,
    )
