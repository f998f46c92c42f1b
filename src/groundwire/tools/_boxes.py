"""Two boxes: the tests lie in one, the project with the candidate in the other; and whether a suite can be judged so.

That is read off the base tree and the text of the tests, before any candidate is there: whoever is judged has no say in
how. What passes here may still turn out to need more while it runs; how the base tree's own run went then decides.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._paths import matches
from groundwire.core._tasks import Task
from groundwire.tools._guard import RUNS_DOCTESTS, STEERING, is_fixed
from groundwire.tools._separation import REACHES_IN, named_in, reaches_in

_IMPORTS_STAR = re.compile(rb"(?m)^\s*from\s+[\w.]+\s+import\s*\(?\s*\*")
STAND_IN = (
    b'raise ImportError("This file lies in another box, and only tests that run in this process can ask for it.")\n'
)
"""Lies in the tests' box where a module of the candidate would: what is imported there is asked of the other box."""
NEEDS_ONE_BOX = RUNS_DOCTESTS | frozenset(
    {
        "runpy", "pytester", "testdir", "multiprocessing", "fork", "popen", "ProcessPoolExecutor",
        "create_subprocess_exec", "create_subprocess_shell", "pexpect", "spawn", "resources", "shelve",
        "sqlite3", "socket", "mmap", "umask", "getpid", "doctest_namespace", "ctypes",
    }
)  # fmt: skip
"""Names in tests that share processes, or more than plain files, with the code they test."""
SHARES_FILES = frozenset(
    {
        "subprocess", "Popen", "executable", "__file__", "open", "read_text", "read_bytes", "write_text", "write_bytes",
        "tmp_path", "tmp_path_factory", "tmpdir", "tmpdir_factory", "tempfile", "getcwd", "cwd", "listdir", "scandir",
        "glob", "mkdir", "makedirs", "fileno", "pathlib", "Path", "os", "shutil", "chdir", "filecmp",
    }
)  # fmt: skip
"""Names in tests that share files with the code they test, or start programs of it: then files cross too."""


def tests_box(task: Task) -> Tree:
    """What lies where the assertions run: what no candidate may change, and a stand-in for each module that it may."""
    files = {p: c if is_fixed(p, task) else STAND_IN for p, c in task.tree.files.items() if _has_place(p, task)}
    return Tree(files, task.tree.executable & files.keys())


def _has_place(path: str, task: Task) -> bool:
    return path.endswith(".py") or is_fixed(path, task)


def candidates_box(candidate: Candidate, task: Task) -> Tree:
    """What lies where the candidate runs: the project with its changes, and none of the tests."""
    tree = candidate.applied_to(task.tree)
    files = {p: c for p, c in tree.files.items() if not (task.is_test(p) or matches(p, STEERING))}
    return Tree(files, tree.executable & files.keys())


def withheld_files(task: Task) -> list[str]:
    """The fixed files that do not lie where the candidate runs: tests, their data, and what steers the runner."""
    theirs = candidates_box(Candidate(task.tree.digest, {}), task).files
    return [path for path in fixed_files(task) if path not in theirs]


def fixed_files(task: Task) -> list[str]:
    """The files below the work folder that are none of the candidate's; everything else there is, also what it adds."""
    return sorted(path for path in task.tree.files if is_fixed(path, task))


def asked_names(task: Task) -> list[str]:
    """Top-level modules that the tests cannot do without and the base tree does not hold: a candidate may bring them.

    Only where they can't be found beside the tests; so what is installed there is never taken from a candidate. An
    import that the tests guard names something that may be missing: it is not asked for.
    """
    names: set[str] = set()
    for path, content in task.tree.files.items():
        if path.endswith(".py") and is_fixed(path, task):
            try:
                tree = ast.parse(content)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            names.update(name.partition(".")[0] for name in _imported(tree.body))
    held = {part.removesuffix(".py") for path in task.tree.files for part in path.split("/")}
    return sorted(names - held)


def own_names(task: Task) -> list[str]:
    """Names of built-in functions and of the library's modules that the project's own code has for things of its own.

    Imported with `*` these take the place of what tests compare by; a candidate may not add to them. Where tests do
    import so it is all names, since any can take the place of one that they have from elsewhere.
    """
    names: set[str] = set()
    star = any(b"*" in c and _IMPORTS_STAR.search(c) for p, c in task.tree.files.items() if is_fixed(p, task))
    for path, content in task.tree.files.items():
        if path.endswith(".py") and not is_fixed(path, task):
            try:
                body = ast.parse(content).body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            for node in body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    names.add(node.name)
                elif isinstance(node, ast.Assign):
                    names.update(target.id for target in node.targets if isinstance(target, ast.Name))
                elif isinstance(node, ast.ImportFrom):
                    names.update(alias.asname or alias.name for alias in node.names)
    return sorted(names if star else names & (vars(builtins).keys() | sys.stdlib_module_names))


def _imported(body: list[ast.stmt]) -> Iterator[str]:
    """What the statements import for certain, so that it fails where it is missing."""
    for statement in body:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            if statement.module and not statement.level:
                yield statement.module
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.With):
            yield from _imported(statement.body)


def shares_files(task: Task) -> bool:
    """True if the tests may share files with the code they test, or start programs of it, by their text."""
    return bool(reaches_in(task, SHARES_FILES)) or bool(_named_file(task))


def reaches_far(code: bytes) -> str:
    """The first thing in the code that shares a process with what it asks, or more than files; empty if it does not."""
    return named_in(code, REACHES_IN | NEEDS_ONE_BOX)


def why_one_box(task: Task) -> str:
    """Why the tests can't be run in another box than the candidate; empty if, by their text, they can."""
    if not any(path.endswith(".py") and not is_fixed(path, task) for path in task.tree.files) and not asked_names(task):
        return "no test imports a module that a candidate may write"
    if found := reaches_in(task):
        return f"the tests reach into the process of the code they test ({found})"
    if found := reaches_in(task, NEEDS_ONE_BOX):
        return f"the tests share a process, or more than files, with the code they test ({found})"
    return ""


def _named_file(task: Task) -> str:
    """A file that a candidate may write, and whose name stands in the tests; empty if none does."""
    editable = {p.rpartition("/")[2]: p for p in task.tree.files if not is_fixed(p, task)}
    for path, content in task.tree.files.items():
        if path.endswith(".py") and is_fixed(path, task):
            text = content.decode("utf-8", "replace")
            for name, whole in editable.items():
                if name in text and name != "__init__.py":
                    return whole
    return ""
