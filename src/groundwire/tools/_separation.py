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
        "capfd", "capfdbinary", "caplog", "assertLogs", "stdin", "reload", "modules", "getsource", "getsourcelines",
        "getsourcefile", "settrace", "setprofile", "freeze_time", "freezer", "perf_counter", "RLIMIT_AS",
        "setrecursionlimit", "tracemalloc", "runpy", "SystemExit", "create_autospec", "getrefcount", "weakref",
        "multiprocessing", "ProcessPoolExecutor", "fork",
    }
)  # fmt: skip
"""Names in tests that change, or look into, the process that the code under test runs in."""


def modules_kept_separate(task: Task) -> tuple[str, ...]:
    """The modules that can be imported in a process of their own, relative to the project.

    Returns:
        Every Python file that a candidate may edit; none where a test reaches into the process of the code it tests, or
        can't be read.
    """
    editable = [path for path in task.tree.files if path.endswith(".py") and task.may_edit(path)]
    return () if reaches_in(task) else tuple(sorted(editable))


def reaches_in(task: Task, by: frozenset[str] = REACHES_IN) -> str:
    """The first thing of that kind which the files that no candidate may edit name; empty if they name none.

    Args:
        task: the task.
        by: names that stand for it. A file that can't be read counts as if it named one.
    """
    for path, content in sorted(task.tree.files.items()):
        if path.endswith(".py") and not task.may_edit(path) and (found := named_in(content, by)):
            return found
    return ""


def named_in(content: bytes, names: frozenset[str]) -> str:
    """The first of these names in a source; empty if it holds none."""
    if len(content) > MAX_FILE_BYTES:
        return "a file that is too long to be read"
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "a file that can't be parsed"
    return min(names.intersection(_names(tree)), default="")


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
