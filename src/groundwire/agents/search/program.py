"""The functions of a task's editable files and visible tests, each with its dependences, parsed when needed."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from groundwire.agents.search.flow import Flow, Node, flow_of
from groundwire.tasks import Task

__all__ = ["Function", "Program"]

MAX_FILE_BYTES = 256 * 1024
_MAKERS = ("__init__", "__new__", "__post_init__")


@dataclass(frozen=True, eq=False)
class Function:
    """A function of a file; a module's own statements are one without a name.

    Args:
        path: the file.
        flow: its dependences.
        owner: the class that it is a method of, or empty.
        is_test: True if the file is a test's.
    """

    path: str
    flow: Flow
    owner: str
    is_test: bool


class Program:
    """A task's functions.

    Args:
        task: its Python files of up to 256 KiB take part; those that can't be parsed are left out.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._files: dict[str, list[Function]] = {}

    def functions(self, path: str) -> list[Function]:
        """The functions of a file, its own statements first; none of a file that takes no part."""
        if path not in self._files:
            self._files[path] = list(self._parsed(path)) if path in self._paths else []
        return self._files[path]

    @cached_property
    def all(self) -> list[Function]:
        """The functions of all files."""
        return [function for path in sorted(self._paths) for function in self.functions(path)]

    @cached_property
    def called(self) -> Mapping[str, list[Function]]:
        """What a call of a name may run: the functions of that name, and what makes an object of such a class."""
        found: dict[str, list[Function]] = defaultdict(list)
        for function in self.all:
            found[function.owner if function.flow.name in _MAKERS else function.flow.name].append(function)
        return found

    def at(self, path: str, line: int) -> Iterator[tuple[Function, Node]]:
        """The statements that a line belongs to; one in each function around it."""
        for function in self.functions(path):
            inside = [n for n in function.flow.nodes[1:] if n.first <= line <= n.last]
            if inside:
                yield function, min(inside, key=lambda n: n.last - n.first)

    @cached_property
    def _paths(self) -> frozenset[str]:
        files = self._task.tree.files
        mine = (p for p in files if self._task.may_edit(p) or self._task.is_test(p))
        return frozenset(p for p in mine if p.endswith(".py") and len(files[p]) <= MAX_FILE_BYTES)

    def _parsed(self, path: str) -> Iterator[Function]:
        is_test = self._task.is_test(path)
        try:
            tree = ast.parse(self._task.tree.files[path])
            yield Function(path, flow_of(tree), "", is_test)
            for scope, owner in _defined(tree, ""):
                yield Function(path, flow_of(scope), owner, is_test)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return


def _defined(inside: ast.AST, owner: str) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    for node in ast.iter_child_nodes(inside):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node, owner
            yield from _defined(node, "")
        else:
            yield from _defined(node, node.name if isinstance(node, ast.ClassDef) else owner)
