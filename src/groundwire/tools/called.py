"""Reads from the visible tests which of the project's functions they call, with what, and what they ask of the result.

Arguments are read as far as they are literals, or names that the test binds to literals: once, or by `parametrize`.
Nothing is run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from groundwire.tasks import Task

__all__ = ["Call", "Calls", "read_calls"]

MAX_FILE_BYTES = 1024 * 1024
MAX_CALLS = 200
ROWS = 20
"""Rows of one `parametrize` that are read."""
Values = Mapping[str, Any]
Place = int | str
"""Position or name of an argument."""


@dataclass(frozen=True)
class Call:
    """A call that a test makes.

    Args:
        path: the test file.
        imports: its import statements, which give the names a meaning.
        function: the last name of what is called.
        node: the call.
        values: what the test's names stand for.
    """

    path: str
    imports: tuple[str, ...]
    function: str
    node: ast.Call
    values: Values

    def arguments(self) -> dict[Place, Any]:
        """The arguments whose values are known."""
        return dict(_arguments(self.node, self.values))

    def text(self, changed: Mapping[Place, Any]) -> str:
        """The call as an expression of its own, with some arguments replaced.

        Raises:
            ValueError, RecursionError: a value can't be written down.
        """
        node = self.node
        args = [_literal(changed[i]) if i in changed else self._plain(a) for i, a in enumerate(node.args)]
        keywords = [
            ast.keyword(k.arg, _literal(changed[k.arg]) if k.arg in changed else self._plain(k.value))
            for k in node.keywords
            if k.arg is not None
        ]
        return ast.unparse(ast.fix_missing_locations(ast.Call(node.func, args, keywords)))

    def _plain(self, node: ast.expr) -> ast.expr:
        known, value = _value(node, self.values)
        return _literal(value) if known else node


@dataclass
class Calls:
    """The calls of all test files.

    Args:
        own: names of the functions and classes that a candidate may edit.
        calls: those that can be made outside of their test.
        wanted: function → names of the types that its result is compared with.
    """

    own: frozenset[str]
    calls: list[Call] = field(default_factory=list[Call])
    wanted: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def read(self, path: str, tree: ast.Module) -> None:
        """Takes up a test file."""
        imports = _imports(tree.body)
        constants = dict(_bound(tree.body, {}))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                for row in _rows(node):
                    values = {**constants, **row}
                    values.update(_bound(node.body, values))
                    self._read_test(path, (*imports, *_imports(ast.walk(node))), node, values)

    def _read_test(self, path: str, imports: tuple[str, ...], test: ast.FunctionDef, values: Values) -> None:
        known = self.own | _imported(imports)
        for node in ast.walk(test):
            if isinstance(node, ast.Call) and len(self.calls) < MAX_CALLS:
                call = Call(path, imports, _name(node.func), node, values)
                if call.function in self.own and _stands_alone(node, values, known) and call.arguments():
                    self.calls.append(call)
            for side, other in _compared(node):
                self._note_wanted(side, other, values)

    def _note_wanted(self, side: ast.expr, other: ast.expr, values: Values) -> None:
        if isinstance(side, ast.Call) and (function := _name(side.func)) in self.own:
            known, value = _value(other, values)
            if known:
                self.wanted.setdefault(function, set()).add(type(value).__name__)


def read_calls(task: Task) -> Calls:
    """The calls of a task's visible test files; files that can't be parsed are left out."""
    found = Calls(frozenset(_defined(task)))
    for path, content in sorted(task.tree.files.items()):
        tree = _parsed(content) if path.endswith(".py") and task.is_test(path) else None
        if tree is not None:
            found.read(path, tree)
    return found


def _defined(task: Task) -> Iterator[str]:
    for path, content in task.tree.files.items():
        tree = _parsed(content) if path.endswith(".py") and task.may_edit(path) else None
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                yield node.name


def _parsed(content: bytes) -> ast.Module | None:
    try:
        return ast.parse(content) if len(content) <= MAX_FILE_BYTES else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _imports(nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    return tuple(ast.unparse(n) for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom)))


def _imported(statements: Iterable[str]) -> frozenset[str]:
    nodes = [node for text in statements for node in ast.parse(text).body]
    names = [a.asname or a.name for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names]
    return frozenset(name.partition(".")[0] for name in names)


def _stands_alone(call: ast.Call, values: Values, known: frozenset[str]) -> bool:
    """True if the call means something outside of its test: it holds no name that only the test knows."""
    if any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return False
    open_parts = [call.func, *(a for a in (*call.args, *(k.value for k in call.keywords)) if not _value(a, values)[0])]
    names = {n.id for part in open_parts for n in ast.walk(part) if isinstance(n, ast.Name)}
    return names <= known


def _rows(test: ast.FunctionDef) -> Iterator[dict[str, Any]]:
    """The values of the test's parameters, one row after the other; one empty row where it has none."""
    found = False
    for decorator in test.decorator_list:
        match decorator:
            case ast.Call(ast.Attribute(attr="parametrize"), [names, ast.List(rows) | ast.Tuple(rows), *_]):
                for bound in (_row(names, row) for row in rows[:ROWS]):
                    if bound:
                        found = True
                        yield bound
            case _:
                pass
    if not found:
        yield {}


def _row(names: ast.expr, row: ast.expr) -> dict[str, Any]:
    known, listed = _value(names, {})
    if isinstance(row, ast.Call) and row.args:  # pytest.param(…)
        row = row.args[0] if len(row.args) == 1 else ast.Tuple(row.args, ast.Load())
    given, value = _value(row, {})
    if not known or not given:
        return {}
    keys = [n.strip() for n in listed.split(",")] if isinstance(listed, str) else list(cast("Sequence[str]", listed))
    if len(keys) == 1:
        return {keys[0]: value}
    parts = cast("Sequence[Any]", value) if isinstance(value, (tuple, list)) else ()
    return dict(zip(keys, parts, strict=True)) if len(parts) == len(keys) else {}


def _bound(body: Iterable[ast.stmt], values: Values) -> Iterator[tuple[str, Any]]:
    """Names that are bound once, to literals."""
    statements = list(body)
    nodes = [node for statement in statements for node in ast.walk(statement)]
    stored = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=expression) if stored.count(name) == 1:
                known, value = _value(expression, values)
                if known:
                    yield name, value
            case _:
                pass


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _compared(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            yield from ((left, right), (right, left))
        case ast.Call(func=ast.Attribute(attr="assertEqual" | "assertEquals"), args=[left, right, *_]):
            yield from ((left, right), (right, left))
        case _:
            pass


def _arguments(call: ast.Call, values: Values) -> Iterator[tuple[Place, Any]]:
    for place, argument in enumerate(call.args):
        known, value = _value(argument, values)
        if known:
            yield place, value
    for keyword in call.keywords:
        known, value = _value(keyword.value, values)
        if known and keyword.arg:
            yield keyword.arg, value


def _value(node: ast.expr, values: Values) -> tuple[bool, Any]:
    if isinstance(node, ast.Name) and node.id in values:
        return True, values[node.id]
    try:
        return True, ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False, None


def _literal(value: Any) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body
