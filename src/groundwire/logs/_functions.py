"""A function to be written, as a task: `solution.py` with its head, visible asserts, and hidden tests for the end."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence

from groundwire.core._candidates import Tree
from groundwire.core._errors import TaskError
from groundwire.core._sandboxes import Limits
from groundwire.core._tasks import Hidden, Task

SOLUTION = "solution.py"
BARE_PYTHON = ("python", "-S", "-m", "unittest")
"""-S keeps installed packages out of reach, so that a verdict does not hang on what happens to be installed; and
unittest starts in half of pytest's time."""


def function_task(
    task_id: str,
    head: str,
    entry_point: str,
    *,
    visible: Sequence[str],
    hidden: str,
    family: str = "",
    limits: Limits | None = None,
) -> Task:
    """The task.

    Args:
        task_id: its id.
        head: imports, signature and docstring: what `solution.py` holds at first.
        entry_point: the function's name.
        visible: asserts, each a case of its own; none: nothing is collected, so there is no verdict.
        hidden: source that defines `check(candidate)`; calls of it at the end are left out, since the case makes one.
        family: tasks that share lessons.
        limits: ceilings of one judging.

    Raises:
        TaskError: the entry point is no Python name.
    """
    if not entry_point.isidentifier():
        raise TaskError(f"Task {task_id}: {entry_point!r} is not the name of a function.")
    files = {SOLUTION: head, "tests/test_visible.py": _visible(visible, entry_point)}
    return Task(
        id=task_id,
        family=family,
        prompt=f"Write the function {entry_point} in {SOLUTION}, as its docstring says:\n\n{head.strip()}\n",
        tree=Tree({path: text.encode() for path, text in files.items()}),
        command=(*BARE_PYTHON, "tests.test_visible"),
        editable=(SOLUTION,),
        hidden=Hidden(
            (*BARE_PYTHON, "hidden.test_hidden"),
            Tree({"hidden/test_hidden.py": _hidden(hidden, entry_point).encode()}),
        ),
        limits=limits or Limits(),
    )


def _imports(entry_point: str) -> str:
    """What a case begins with: a star brings what the head imports as well, but no name with a leading underscore."""
    own = f"from solution import {entry_point}\n" if entry_point.startswith("_") else ""
    return f"from solution import *\n{own}\nimport unittest\n\n"


def _visible(asserts: Sequence[str], entry_point: str) -> str:
    cases = "".join(
        f"\n    def test_{number}(self):\n{textwrap.indent(statement(text), ' ' * 8)}\n"
        for number, text in enumerate(asserts, start=1)
    )
    return f"{_imports(entry_point)}\nclass Visible(unittest.TestCase):\n{cases or '    pass'}\n"


def statement(text: str) -> str:
    """The assert as it stands, where it is one line; else written anew, since indenting would change its strings."""
    if "\n" not in text.strip():
        return text.strip()
    try:
        return ast.unparse(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return f"exec({text!r}, globals())"


def _hidden(source: str, entry_point: str) -> str:
    body = source.rstrip()
    calls = (f"\ncheck({entry_point})", "\ntest_check()")
    body = body.removesuffix(next(filter(body.endswith, calls), ""))
    case = f"class Hidden(unittest.TestCase):\n    def test_hidden(self):\n        check({entry_point})\n"
    return f"{_imports(entry_point)}{body.strip()}\n\n\n{case}"
