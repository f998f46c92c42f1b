"""Names that a candidate may not bring: files that act without being imported, and modules in the place of others.

A file that an interpreter reads by itself at its start, wherever it lies, and a name that shows something else than it
is, are refused. A module that stands where another one would be imported is harmless in a box of its own; in one
process with the runner it is not.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Collection, Iterator
from importlib.machinery import all_suffixes
from pathlib import PurePosixPath

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._paths import matches
from groundwire.core._tasks import Task

ACTS_BY_ITSELF = ("**/sitecustomize.py", "**/usercustomize.py", "**/*.pth")
NEVER_SHOWN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
"""Unicode's categories of what a name can hold and a reader does not see: marks of direction and control among them."""
OF_RUNNERS = frozenset(
    {
        "pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "exceptiongroup", "tomli", "colorama",
        "pygments", "attr", "attrs", "argcomplete", "pexpect", "hypothesis", "_hypothesis_pytestplugin", "numpy",
        "execnet", "xdist", "pytest_asyncio", "pytest_cov", "pytest_mock", "pytest_timeout", "anyio", "pkg_resources",
        "setuptools", "zope", "twisted", "coverage", "mock", "typing_extensions", "IPython", "_distutils_hack",
    }
)  # fmt: skip
"""What runners, and the plugins that projects most often declare, import besides the standard library."""
_PYTHONPATH = re.compile(rb"(?m)^\s*pythonpath\s*=\s*(.+)$")
_FOLDER = re.compile(r"[\w./-]+")


def refused_names(candidate: Candidate) -> list[str]:
    """The paths of a candidate's files that are refused wherever they lie."""
    return [p for p, c in candidate.changes.items() if c is not None and (matches(p, ACTS_BY_ITSELF) or _misleads(p))]


def _misleads(path: str) -> bool:
    return any(unicodedata.category(letter) in NEVER_SHOWN for letter in path)


def shadowed_names(candidate: Candidate, task: Task) -> list[str]:
    """The modules of others in whose place a candidate's own would be imported by the tests or their runner.

    Only what becomes importable at the top, and the project had not: `pkg/types.py` is no `types`.
    """
    tops = _import_folders(task.tree)
    base = set(_modules(task.tree.files, tops))
    added = set(_modules([p for p, c in candidate.changes.items() if c is not None], tops)) - base
    return sorted({name for name, suffix in added if _is_of_others(name) or suffix != ".py"})


def _is_of_others(name: str) -> bool:
    return name in sys.stdlib_module_names or name in OF_RUNNERS or name.startswith("_gw_")


def _modules(paths: Collection[str], tops: Collection[str]) -> Iterator[tuple[str, str]]:
    """Top-level modules, each with the suffix of its file, found below these folders."""
    suffixes = all_suffixes()
    for path in paths:
        for top in tops:
            name = path.removeprefix(f"{top}/") if top else path
            if top and name == path:
                continue
            module, _, inner = name.partition("/")
            suffix = next((s for s in suffixes if name.endswith(s)), "")
            if suffix and (not inner or inner == f"__init__{suffix}"):
                yield module.removesuffix(suffix).partition(".")[0], suffix


def _import_folders(tree: Tree) -> set[str]:
    """The folders that are on the import path, or are put there for a test file; empty: the project's own."""
    found = {"", "src", "lib"}
    for path, content in tree.files.items():
        if path.endswith(".py") and matches(path, ("**/test_*.py", "**/*_test.py", "**/conftest.py")):
            folder = PurePosixPath(path).parent
            while f"{folder}/__init__.py" in tree.files:
                folder = folder.parent
            found.add("" if str(folder) == "." else str(folder))
        elif path in ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"):
            for line in _PYTHONPATH.findall(content):
                found.update(name.strip("./") for name in _FOLDER.findall(line.decode("utf-8", "replace")))
    return found
