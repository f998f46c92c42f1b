"""Names of tests as published rows give them, as the ids by which pytest is asked for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from groundwire.core._candidates import Tree
from groundwire.core._errors import TaskError

_UNITTEST = re.compile(r"^(\w+) \(([\w.]+)\)$")
_BARE = re.compile(r"^(?:(\w+)\.)?(\w+)(\[.*)?$", re.DOTALL)
DJANGO_RUNNER = "tests/runtests.py"
FORMS = "path/to/test_file.py::test_name, test_name (module.Class), Class.test_name or test_name"


def file_of(test: str) -> str:
    """The file of an id."""
    return test.partition("::")[0]


def node_ids(names: Sequence[str], tree: Tree, hidden: Tree, where: str) -> list[str]:
    """Ids for pytest, each once, in the order of the names.

    A parameter list that a log has cut off at a blank (`test_it[a`) stands for all of that test's parameters.

    Args:
        names: see `FORMS`; the ones without a file are looked for in the hidden files.
        tree: the project.
        hidden: the files that are laid over it.
        where: the row's place, for messages.

    Raises:
        TaskError: a test is in no file, in several, or only the project's own runner knows it.
    """
    files = {**tree.files, **hidden.files}
    found: dict[str, None] = {}
    missing: list[str] = []
    written = [(path, name) for path in hidden.files for name in _tests_in(path, hidden.files[path])]
    for name in names:
        ids = _ids(name, files, written)
        if len(ids) == 1:
            found[ids[0]] = None
        elif ids:
            raise TaskError(
                f"{where}: {name!r:.100} stands for several tests: {', '.join(ids[:3])}.", do=f"Name one: {FORMS}."
            )
        else:
            missing.append(name)
    if missing:
        shown = ", ".join(repr(name)[:100] for name in missing[:3])
        if DJANGO_RUNNER in tree.files and any(_UNITTEST.match(name) for name in missing):
            raise TaskError(
                f"{where}: {shown}: only {DJANGO_RUNNER} can run these tests, and pytest runs them here.",
                do="Leave the row out.",
            )
        raise TaskError(f"{where}: these tests are in no file of the repository: {shown}.", do=f"Write {FORMS}.")
    return list(found)


def _ids(name: str, files: dict[str, bytes], written: Sequence[tuple[str, str]]) -> list[str]:
    path, apart, rest = name.partition("::")
    if apart:
        is_there = path in files and not name.startswith("-") and rest
        return [_whole(name)] if is_there else []
    if found := _UNITTEST.match(name):
        if DJANGO_RUNNER in files:
            return []
        return _of_unittest(found[1], found[2], files)
    if found := _BARE.match(name):
        test = f"{found[1]}::{found[2]}" if found[1] else found[2]
        fits = [f"{file}::{known}" for file, known in written if known == test]
        return [_whole(f"{one}{found[3] or ''}") for one in fits]
    return []


def _of_unittest(test: str, place: str, files: dict[str, bytes]) -> list[str]:
    """`test_it (package.module.Class)`; since Python 3.11 the test's own name ends it."""
    dotted = place.removesuffix(f".{test}")
    module, _, owner = dotted.rpartition(".")
    path = f"{module.replace('.', '/')}.py"
    fits = [file for file in sorted(files) if file == path or file.endswith(f"/{path}")]
    return [f"{file}::{owner}::{test}" for file in fits] if module else []


def _whole(test: str) -> str:
    """Without a parameter list that is cut off."""
    last = test.rpartition("::")[2]
    return test[: test.index("[", len(test) - len(last))] if "[" in last and not last.endswith("]") else test


def _tests_in(path: str, text: bytes) -> Iterator[str]:
    if not path.endswith(".py"):
        return
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # running it says what is wrong
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    for node in module.body:
        if isinstance(node, kinds):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            yield from (f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, kinds))
