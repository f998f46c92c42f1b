"""Whether tests can be run in another process than the code they judge: read off their source, without running them.

What passes here may still turn out to need more while it runs (a class, a generator); then that run says so itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from groundwire.core._tasks import Task

MAX_FILE_BYTES = 1024 * 1024
REACHES_IN = frozenset(
    {
        "monkeypatch", "mocker", "mock", "patch", "MagicMock", "Mock", "capfd", "capfdbinary", "caplog", "recwarn",
        "warns", "deprecated_call", "catch_warnings", "seed", "environ", "putenv", "chdir", "stdin", "input", "reload",
        "setattr", "delattr", "modules", "getsource", "signature", "settrace", "freeze_time", "freezer", "doctest",
        "hypothesis", "perf_counter", "RLIMIT_AS", "setrecursionlimit", "tracemalloc", "assertLogs", "assertWarns",
    }
)  # fmt: skip
"""Names in tests that change, or look into, the process that the code under test runs in."""


def modules_kept_apart(task: Task) -> tuple[str, ...]:
    """The modules that can be imported in a process of their own, relative to the project.

    Returns:
        Every Python file that a candidate may edit; none where a test reaches into the process of the code it tests, or
        can't be read.
    """
    editable = [path for path in task.tree.files if path.endswith(".py") and task.may_edit(path)]
    others = (content for path, content in task.tree.files.items() if path.endswith(".py") and not task.may_edit(path))
    if not editable or not all(_stays_outside(content) for content in others):
        return ()
    return tuple(sorted(editable))


def _stays_outside(content: bytes) -> bool:
    if len(content) > MAX_FILE_BYTES:
        return False
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return REACHES_IN.isdisjoint(_names(tree))


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield from node.name.split(".")
