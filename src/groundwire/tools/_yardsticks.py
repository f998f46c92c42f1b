"""What tests measure by that lies in the project itself: constants that they compare with, exceptions that they expect.

A candidate that moves such a yardstick passes whatever it computes. It is read off the sources, nothing is run: which
of them a candidate has moved, and which tests rest on those alone.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from groundwire.core._candidates import Candidate
from groundwire.core._tasks import Task

RAISES = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
KEPT_AS_THEY_ARE = frozenset({"sorted", "list", "tuple", "set", "frozenset", "dict", "len", "str", "sum", "min", "max"})
"""What only shows a value in another way."""
MAX_FOLLOWED = 8


@dataclass(frozen=True)
class Yardsticks:
    """What a candidate has moved, by name.

    Args:
        constants: values written out in the base tree, and others now, or changed while the program runs.
        errors: exceptions that were classes of their own, and now are others under their name; or new ones that are
            another name for every exception.
    """

    constants: frozenset[str] = frozenset()
    errors: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.constants or self.errors)


def moved_yardsticks(candidate: Candidate, task: Task) -> Yardsticks:
    """What the candidate has moved of what tests may measure by."""
    constants: set[str] = set()
    errors: set[str] = set()
    for path, content in candidate.changes.items():
        before, after = _parsed(task.tree.files.get(path, b"")), _parsed(content or b"")
        if not path.endswith(".py") or before is None or after is None:
            continue
        told_before, told_after = _told(before), _told(after)
        constants |= {
            name
            for name in _constants(before)
            if name in told_after and sorted(told_before[name]) != sorted(told_after[name])
        }
        classes = {node.name for node in ast.walk(before) if isinstance(node, ast.ClassDef)}
        kept = {node.name for node in ast.walk(after) if isinstance(node, ast.ClassDef)}
        for name, value in _bound_outside(after):
            own = isinstance(value, ast.Name) and not hasattr(builtins, value.id)
            every = isinstance(value, ast.Name) and value.id in ("Exception", "BaseException")
            if (name in classes - kept and not own) or (every and name not in told_before):
                errors.add(name)
    return Yardsticks(frozenset(constants), frozenset(errors))


def resting_on(moved: Yardsticks, code: bytes) -> frozenset[str]:
    """The functions of a file of tests all of whose assertions rest on what was moved, or that expect such an error."""
    tree = _parsed(code)
    if tree is None:
        return frozenset()
    outside = {name: [value] for name, value in _bound_outside(tree)}
    renamed = {
        alias.asname: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return frozenset(node.name for node in functions if _Test(node, outside, renamed, moved).rests)


class _Test:
    """One function of the tests."""

    def __init__(
        self, function: ast.AST, outside: Mapping[str, list[ast.expr]], renamed: Mapping[str, str], moved: Yardsticks
    ) -> None:
        self._function = function
        self._renamed = renamed
        self._moved = moved
        self._bound = {**outside, **_bindings(function)}

    @cached_property
    def rests(self) -> bool:
        found: list[bool] = []
        for node in ast.walk(self._function):
            name = _last(node.func) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and name in RAISES and node.args:
                if self._is_one_of(node.args[0], self._moved.errors):
                    return True
                found.append(False)
            elif isinstance(node, ast.Assert):
                sides = [node.test.left, *node.test.comparators] if isinstance(node.test, ast.Compare) else []
                found.append(self._is_measured(sides))
            elif isinstance(node, ast.Call) and name.startswith("assert"):
                found.append(self._is_measured(node.args[:2]))
        return bool(found) and all(found)

    def _is_measured(self, sides: list[ast.expr]) -> bool:
        measures = [self._is_one_of(side, self._moved.constants) for side in sides]
        written_out = any(isinstance(side, ast.Constant) for side in sides)
        return any(measures) and not all(measures) and not written_out

    def _is_one_of(self, node: Any, names: Collection[str], followed: int = 0) -> bool:
        """True for what stands for one of them, or for a part of one."""
        while True:
            if isinstance(node, ast.Call) and len(node.args) == 1 and _last(node.func) in KEPT_AS_THEY_ARE:
                node = node.args[0]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "items":
                node = node.func.value
            elif isinstance(node, ast.Subscript):
                node = node.value
            else:
                break
        if isinstance(node, ast.Tuple):
            return any(self._is_one_of(part, names, followed) for part in node.elts)
        if isinstance(node, ast.Attribute):
            return node.attr in names and not isinstance(node.value, ast.Call) and not self._is_own(node.value)
        if not isinstance(node, ast.Name):
            return False
        values = self._bound.get(node.id, [])
        if not values:
            return self._renamed.get(node.id, node.id) in names
        return followed < MAX_FOLLOWED and all(self._is_one_of(value, names, followed + 1) for value in values)

    def _is_own(self, node: ast.AST) -> bool:
        """True for a name that the tests have bound themselves: what it has is no constant of the project's."""
        return isinstance(node, ast.Name) and (node.id == "self" or node.id in self._bound)


def _parsed(code: bytes) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _last(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _bound_outside(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Names of a module and of its classes, with the values that statements outside of functions give them."""
    bodies = [tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    for node in (node for body in bodies for node in body):
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value and node in tree.body:
            yield node.target.id, node.value


def _constants(tree: ast.Module) -> Iterator[str]:
    """Names whose values are written out."""
    for name, value in _bound_outside(tree):
        used = {part.id for part in ast.walk(value) if isinstance(part, ast.Name)}
        if all(hasattr(builtins, other) for other in used):
            yield name


def _told(tree: ast.Module) -> Mapping[str, list[str]]:
    """Of each name what it is bound to outside of functions, and what is done to it as a whole, wherever that is."""
    found: dict[str, list[str]] = {}
    for name, value in _bound_outside(tree):
        found.setdefault(name, []).append(ast.unparse(value))
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Global):
            names = node.names
        elif isinstance(node, ast.AugAssign | ast.Delete):
            names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            names = (
                [called.value.id] if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) else []
            )
        for name in names:
            found.setdefault(name, []).append(ast.unparse(node))
    return found


def _bindings(function: Any) -> dict[str, list[ast.expr]]:
    """What a function's names are bound to: by statements, by loops and by `parametrize`."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            pairs = [(node.target, node.iter)]
        elif isinstance(node, ast.Call) and _last(node.func) == "parametrize" and len(node.args) > 1:
            names = getattr(node.args[0], "value", "")
            pairs = [(ast.Name(name.strip()), node.args[1]) for name in str(names).split(",")]
        else:
            continue
        for target, value in pairs:
            for part in ast.walk(target):
                if isinstance(part, ast.Name):
                    found.setdefault(part.id, []).append(value)
    return found
