"""Finds the source of live functions and classes, and the lines on which a live graph is wired."""

from __future__ import annotations

import ast
import linecache
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from groundwire_audit._report import NOWHERE, SourcePlace
from groundwire_audit.reading._files import Code, code_of_text
from groundwire_audit.reading._graph import END, START, DeclaredGraph
from groundwire_audit.reading._modules import ModuleFinder
from groundwire_audit.reading._values import Lookup, Module

# Finds the source of a live function or class.

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class LiveCode:
    """Syntax trees of the files that live functions come from.

    Args:
        finder: reads and names the files.
        scope_of: makes the names of a live module from its globals.
    """

    def __init__(self, finder: ModuleFinder, scope_of: Callable[[dict[str, object]], Lookup]) -> None:
        self._finder = finder
        self._scope_of = scope_of
        self._codes: dict[str, Code | None] = {}
        self._modules: dict[tuple[str, int], Module] = {}
        self._functions: dict[str, dict[int, list[FunctionNode]]] = {}

    def module(self, file: str, names: dict[str, object]) -> Module | None:
        """The module of a file, with live names; None where its source is not at hand."""
        code = self._code(file)
        if code is None:
            return None
        key = (file, id(names))
        if key not in self._modules:
            self._modules[key] = Module(str(names.get("__name__", "")), code, self._scope_of(names))
        return self._modules[key]

    def _code(self, file: str) -> Code | None:
        if file not in self._codes:
            self._codes[file] = self._read(file)
        return self._codes[file]

    def _read(self, file: str) -> Code | None:
        path = Path(file)
        if path.suffix == ".py" and path.is_file():
            return self._finder.open(path).code
        # a cell of a running notebook, or source that was typed in
        lines = linecache.getlines(file)
        return code_of_text("".join(lines), file) if lines else None

    def function(self, function: types.FunctionType) -> tuple[FunctionNode, Module] | None:
        """The syntax tree of a function, found by its first line and, for a lambda, by its columns."""
        code = function.__code__
        module = self.module(code.co_filename, function.__globals__)
        if module is None:
            return None
        index = self._functions.setdefault(code.co_filename, _index(module.code.tree))
        same = [n for n in index.get(code.co_firstlineno, []) if _name(n) == code.co_name]
        if len(same) > 1:
            same = [n for n in same if _holds(n, code)] or same
        return (same[0], module) if same else None

    def class_(self, cls: type) -> tuple[ast.ClassDef, Module] | None:
        """The syntax tree of a class, found by its qualified name."""
        import sys

        holder = sys.modules.get(cls.__module__)
        names: dict[str, object] = vars(holder) if holder is not None else {}
        file = names.get("__file__")
        if not isinstance(file, str):
            file = next((f.__code__.co_filename for f in vars(cls).values() if isinstance(f, types.FunctionType)), None)
        module = self.module(file, names) if file is not None else None
        if module is None:
            return None
        wanted = [p for p in cls.__qualname__.split(".") if p != "<locals>"]
        found = list(_classes(module.code.tree, []))
        exact = [node for path, node in found if path == wanted]
        return (exact[-1], module) if exact else None


def _name(node: FunctionNode) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _index(tree: ast.Module) -> dict[int, list[FunctionNode]]:
    index: dict[int, list[FunctionNode]] = {}
    for node in ast.walk(tree):
        if isinstance(node, FunctionNode):
            decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
            index.setdefault(min([node.lineno, *(d.lineno for d in decorators)]), []).append(node)
    return index


def _holds(node: FunctionNode, code: types.CodeType) -> bool:
    """True if the instructions lie inside the node, and not in a smaller one of the same line."""
    if not isinstance(node, ast.Lambda):
        return [a.arg for a in node.args.args] == list(code.co_varnames[: code.co_argcount])
    inside = (node.body.lineno, node.body.col_offset), (node.body.end_lineno or 0, node.body.end_col_offset or 0)
    places = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
    return bool(places) and all(inside[0] <= p <= inside[1] for p in places)


def _classes(node: ast.AST, path: list[str]) -> Iterator[tuple[list[str], ast.ClassDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield [*path, child.name], child
            yield from _classes(child, [*path, child.name])
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _classes(child, [*path, child.name])
        else:
            yield from _classes(child, path)


# Finds the lines on which a live graph's edges are wired, in the files its functions come from.

NAMES = {"START": START, "END": END}
Call = tuple[str, list[str], SourcePlace]


class Wired:
    """Calls of `add_node`, `add_edge` and `add_conditional_edges` whose node names can be read."""

    def __init__(self, finder: ModuleFinder) -> None:
        self._calls = [call for module in finder.modules.values() for call in _calls(module)]

    def place(self, graph: DeclaredGraph) -> None:
        """Gives nodes, edges and branches the line on which they are wired, where exactly one can be found."""
        graph.edges = [replace(e, place=self._find("edge", e.source, e.target)) for e in graph.edges]
        for branch in graph.branches:
            found = self._find("branch", branch.source)
            branch.place = found if found != NOWHERE else branch.place
        places = [e.place for e in graph.edges if e.place != NOWHERE] + [
            b.place for b in graph.branches if b.place != NOWHERE
        ]
        graph.place = min(places, default=NOWHERE)

    def _find(self, kind: str, *names: str) -> SourcePlace:
        found = {place for k, called, place in self._calls if k == kind and called[: len(names)] == list(names)}
        return next(iter(found)) if len(found) == 1 else NOWHERE


def _calls(module: Module) -> list[Call]:
    found: list[Call] = []
    for node in ast.walk(module.code.tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_edge", end_lineno=line), args=[source, target]):
                place = module.code.place(line or node.lineno)
                sources = source.elts if isinstance(source, ast.List | ast.Tuple) else [source]
                found += [("edge", [_node_name(one), _node_name(target)], place) for one in sources]
            case ast.Call(func=ast.Attribute(attr="add_conditional_edges", end_lineno=line), args=[source, *_]):
                found.append(("branch", [_node_name(source)], module.code.place(line or node.lineno)))
            case ast.Call(func=ast.Attribute(attr="set_entry_point", end_lineno=line), args=[target]):
                found.append(("edge", [START, _node_name(target)], module.code.place(line or node.lineno)))
            case ast.Call(func=ast.Attribute(attr="set_finish_point", end_lineno=line), args=[source]):
                found.append(("edge", [_node_name(source), END], module.code.place(line or node.lineno)))
            case _:
                continue
    return found


def _node_name(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return NAMES.get(name, name)
        case ast.Attribute(attr=name):
            return NAMES.get(name, name)
        case _:
            return ""
