"""Source mode, beyond graphs: classes that are graphs, and `while` and `for` loops of functions that ask a model."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from functools import lru_cache

from groundwire_audit._report import SourcePlace
from groundwire_audit.reading._class_graphs import framework_of
from groundwire_audit.reading._conditions import Taint, TaintKind
from groundwire_audit.reading._frames import Arguments, Frame, SeenLoop
from groundwire_audit.reading._frameworks import declare_class
from groundwire_audit.reading._graph import DeclaredGraph
from groundwire_audit.reading._members import member
from groundwire_audit.reading._reader import TooComplex
from groundwire_audit.reading._source_reader import SourceReader
from groundwire_audit.reading._values import (
    ClassValue,
    Const,
    FunctionValue,
    Instance,
    Module,
    Scope,
    Thing,
    Value,
    data,
)

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
MAX_CALLS = 3
FIXED = frozenset({Taint(TaintKind.FIXED)})


def declare_classes(reader: SourceReader, module: Module) -> None:
    """Declares each flow and workflow that a module defines, whether or not anything in sight runs it."""
    for cls in _classes(module):
        if not getattr(cls.node, "name", "").startswith("_"):
            declare_class(reader, cls)


def node_classes(modules: Iterable[Module]) -> list[ClassValue]:
    """All classes of these modules that are nodes of pydantic-graph."""
    return [c for m in modules for c in _classes(m) if framework_of(c) == "pydantic-graph"]


def _classes(module: Module) -> list[ClassValue]:
    if not isinstance(module.scope, Scope):
        return []
    held = [v.thing for v in module.scope.names.values()]
    return [c for c in held if isinstance(c, ClassValue) and c.module is module]


# Loops of plain functions.


def plain_loops(reader: SourceReader, modules: Iterable[Module], known: Set[SourcePlace]) -> list[DeclaredGraph]:
    """Loops with a model in them that are in no graph: for each function that holds some, one graph of its name.

    Args:
        reader: has read the modules.
        modules: those that are audited.
        known: loops that were reported already.
    """
    found: dict[SourcePlace, SeenLoop] = {}
    held = list(modules)
    for module in held:
        for loop in module.loops:
            found.setdefault(loop.place, loop)
        try:
            for loop in _followed(reader, module):
                found.setdefault(loop.place, loop)
        except (TooComplex, RecursionError):
            continue  # what was found until then counts
    found = {**reader.seen, **found}  # also those of functions that only a tool or the maker of a graph calls
    graphs: list[DeclaredGraph] = []
    for module in held:
        mine = [x for p, x in found.items() if p not in known and _stands_in(p, module)]
        owners = _owners(module.code.tree)
        named: dict[tuple[str, int], list[SeenLoop]] = {}
        for loop in sorted(mine, key=lambda x: x.place.line):
            named.setdefault(_owner(owners, module, loop.place), []).append(loop)
        for (name, line), loops in named.items():
            graph = DeclaredGraph(
                name, module.code.place(line), kind="source", loops=tuple(loops), compiled=True, ends="no cap"
            )
            graph.aliases.add(name)
            graphs.append(graph)
    return graphs


def _stands_in(place: SourcePlace, module: Module) -> bool:
    return place.file == module.code.shown


def _followed(reader: SourceReader, module: Module) -> Iterator[SeenLoop]:
    """Follows functions and methods that hold a loop and that nothing followed so far has called; callers first."""
    if not isinstance(module.scope, Scope):
        return
    frame = Frame(module, module.scope, depth=1)
    own = {n: v for n, v in module.scope.names.items() if _module_of(v) is module}
    called = {c for v in own.values() for c in _names_called(_node(v))}
    for name, value in sorted(own.items(), key=lambda x: x[0] in called):
        if isinstance(value.thing, FunctionValue):
            if _holds_loop(value.thing.node, own, 0):
                yield from _follow(reader, value, name, frame)
        elif isinstance(value.thing, ClassValue) and not framework_of(value.thing):
            yield from _of_class(reader, value.thing, own, frame)


def _of_class(reader: SourceReader, cls: ClassValue, own: Mapping[str, Value], frame: Frame) -> Iterator[SeenLoop]:
    methods = {n: m for n, m in cls.members.items() if isinstance(m.thing, FunctionValue)}
    together = {**own, **methods}
    looping = {n: m for n, m in methods.items() if _holds_loop(_node(m), together, 0)}
    if not looping:
        return
    made = _made(reader, cls, frame)
    if made is None or not isinstance(made.thing, Instance):
        return
    called = {c for m in looping.values() for c in _names_called(_node(m))}
    for name in sorted(looping, key=lambda n: n in called):
        method = _method(reader, made, name, frame)
        if method is not None and isinstance(method.thing, FunctionValue):
            yield from _follow(reader, method, name, frame)


def _method(reader: SourceReader, made: Value, name: str, frame: Frame) -> Value | None:
    reader.refill()
    try:
        return reader.attribute(made, name, Frame(frame.module, Scope(frame.module.scope), name, 1))
    except (TooComplex, RecursionError):  # a property is followed at once
        return None


def _made(reader: SourceReader, cls: ClassValue, frame: Frame) -> Value | None:
    reader.refill()
    try:
        starter = member(cls, "__init__")
        given = _settings(starter.thing) if starter is not None else Arguments()
        return reader.call(Value(cls), given, cls.node, Frame(frame.module, Scope(frame.module.scope), "", 1))
    except (TooComplex, RecursionError):
        return None


def _follow(reader: SourceReader, callee: Value, name: str, frame: Frame) -> list[SeenLoop]:
    function = callee.thing
    assert isinstance(function, FunctionValue)
    if function.node in reader.called:
        return []
    reader.refill()
    inner = Frame(frame.module, Scope(frame.module.scope), name, 1)
    with suppress(TooComplex, RecursionError):
        reader.call(callee, _settings(function), ast.Pass(), inner)
    return inner.loops


def _settings(function: Thing) -> Arguments:
    """Flags and numbers that a caller out of sight may set: their defaults decide nothing."""
    if not isinstance(function, FunctionValue):
        return Arguments()
    held = {n: v.thing.value for n, v in function.defaults.items() if isinstance(v.thing, Const)}
    return Arguments(named={n: data(FIXED) for n, value in held.items() if isinstance(value, int | float)})


def _module_of(value: Value) -> Module | None:
    return value.thing.module if isinstance(value.thing, FunctionValue | ClassValue) else None


def _node(value: Value) -> ast.AST:
    return value.thing.node if isinstance(value.thing, FunctionValue | ClassValue) else ast.Pass()


def _holds_loop(node: ast.AST, names: Mapping[str, Value], depth: int) -> bool:
    """True if there is a loop with a call in it, in a piece of source or in what it calls."""
    if _has_loop(node):
        return True
    if depth >= MAX_CALLS:
        return False
    found = (names.get(n) for n in _names_called(node))
    return any(
        v is not None
        and isinstance(v.thing, FunctionValue)
        and v.thing.node is not node
        and _holds_loop(v.thing.node, names, depth + 1)
        for v in found
    )


@lru_cache(maxsize=4096)
def _has_loop(node: ast.AST) -> bool:
    return any(
        isinstance(part, LOOPS) and any(isinstance(p, ast.Call) for p in ast.walk(part)) for part in ast.walk(node)
    )


@lru_cache(maxsize=4096)
def _names_called(node: ast.AST) -> frozenset[str]:
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            match part.func:
                case ast.Name(id=name) | ast.Attribute(attr=name):
                    found.add(name)
                case _:
                    continue
    return frozenset(found)


# Which function a line stands in.


def _owners(tree: ast.Module) -> list[tuple[int, int, str]]:
    """First line, last line and name of each function, the inner ones after the outer ones."""
    found: list[tuple[int, int, str]] = []
    pending: list[tuple[ast.stmt, str]] = [(s, "") for s in tree.body]
    while pending:
        statement, prefix = pending.pop()
        name = f"{prefix}{getattr(statement, 'name', '')}"
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append((statement.lineno, statement.end_lineno or statement.lineno, name))
        inside = f"{name}." if isinstance(statement, DEFINITIONS) else prefix
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            pending += [
                (inner, inside)
                for part in getattr(statement, block, ())
                for inner in ([part] if isinstance(part, ast.stmt) else getattr(part, "body", ()))
            ]
    return sorted(found)


def _owner(owners: list[tuple[int, int, str]], module: Module, place: SourcePlace) -> tuple[str, int]:
    """The function that a loop stands in, and its first line; of a script the file."""
    line = module.code.line_of(place)
    inside = [(name, first) for first, last, name in owners if first <= line <= last]
    return inside[-1] if inside else (module.code.path.stem, line - place.line + 1)
