"""Where the modules come from that a project imports, and which of them a fork server should have loaded."""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum

from groundwire.core._candidates import Tree
from groundwire.core._tasks import Task

PYTESTS_OWN = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"})
MOST = 32
MAX_FILE_BYTES = 1024 * 1024
_IMPORT = re.compile(rb"(?m)^\s*(?:from|import)\s+([A-Za-z_][A-Za-z0-9_]*)")
_PLUGIN = re.compile(rb"(?:^|\s)-p[\s=]*([A-Za-z_][A-Za-z0-9_]*)")
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")


def imports_from_outside(tree: Tree) -> tuple[str, ...]:
    """Top-level modules that the project imports and does not hold itself, most used first.

    Left out is what pytest will load as a plugin: it wants to rewrite the assertions in there, and warns where it comes
    too late.
    """
    used: Counter[bytes] = Counter()
    unwanted: set[bytes] = set()
    for path, content in tree.files.items():
        if len(content) > MAX_FILE_BYTES:
            continue
        unwanted.update(_PLUGIN.findall(content))
        if path.endswith(".py"):
            used.update(set(_IMPORT.findall(content)))
            if b"pytest_plugins" in content:
                unwanted.update(_WORD.findall(content))
    own = {part for path in tree.files for part in path.removesuffix(".py").split("/")}
    names = (name.decode() for name, _ in used.most_common() if name not in unwanted)
    return tuple(n for n in names if n not in own and not n.startswith(("pytest", "_pytest")))[:MOST]


class ModuleOrigin(StrEnum):
    """Where a top-level module belongs that could not be imported."""

    ROOT = "root"
    """It lies at the project's root."""
    INSIDE = "inside"
    """It lies in a folder of the project."""
    OUTSIDE = "outside"
    """A file of the project imports it, and none holds it."""
    UNKNOWN = "unknown"


def place_of(name: str, task: Task) -> ModuleOrigin:
    """Where the top-level module of that name belongs; unknown where all code is still to be written.

    Args:
        name: a module's, dotted.
        task: the task, with the project as it stands.
    """
    tree = task.tree
    top = name.partition(".")[0]
    parts = [path.removesuffix(".py").split("/") for path in tree.files if path.endswith(".py")]
    if any(path[0] == top for path in parts):
        return ModuleOrigin.ROOT
    if any(top in path for path in parts):
        return ModuleOrigin.INSIDE
    if not any(task.may_edit(path) for path in tree.files):
        return ModuleOrigin.UNKNOWN
    statement = re.compile(rb"(?m)^\s*(?:from|import)\s+(?:[\w., ]*\b)?" + re.escape(top.encode()) + rb"\b")
    imports = (
        content for path, content in tree.files.items() if path.endswith(".py") and len(content) <= MAX_FILE_BYTES
    )
    return ModuleOrigin.OUTSIDE if any(statement.search(content) for content in imports) else ModuleOrigin.UNKNOWN


def own_modules(task: Task) -> dict[str, str]:
    """Top-level modules that a candidate may edit and an installation would put on the import path → their file.

    What pytest itself imports is among them only where the tests ask for it too.
    """
    found: dict[str, str] = {}
    tests = (content for path, content in task.tree.files.items() if path.endswith(".py") and not task.may_edit(path))
    asked = {name.decode() for content in tests for name in _IMPORT.findall(content)} - {"pytest", "_pytest"}
    for path in sorted(task.tree.files):
        parts = path.split("/")
        inner = parts[1:] if parts[0] in ("src", "lib") else parts
        if path.endswith(".py") and task.may_edit(path) and len(inner) <= 2:
            name = inner[0].removesuffix(".py")
            if (len(inner) == 1 or inner[1] == "__init__.py") and (name in asked or name not in PYTESTS_OWN):
                found.setdefault(name, path)
    return found
