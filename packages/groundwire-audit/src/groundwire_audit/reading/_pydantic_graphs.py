"""Graphs of pydantic-graph: a class is a node, what its `run` returns is the next one, with its fields."""

from __future__ import annotations

import ast

from groundwire_audit._report import NOWHERE, SourcePlace
from groundwire_audit.reading._class_graphs import (
    FIXED,
    KIND,
    bound_to,
    class_name_of,
    fields_of,
    framework_of,
    named_in,
    no_methods,
)
from groundwire_audit.reading._frames import Arguments, Frame
from groundwire_audit.reading._graph import END, DeclaredGraph, DeclaredNode, GraphValue
from groundwire_audit.reading._langgraph_calls import read_schema
from groundwire_audit.reading._members import bases, member
from groundwire_audit.reading._reader import Entry, Reader
from groundwire_audit.reading._values import (
    ClassValue,
    CommandValue,
    External,
    FunctionValue,
    Handle,
    Instance,
    Items,
    Scope,
    StateValue,
    Table,
    Value,
    const,
    data,
)


def declare_nodes(reader: Reader, given: Arguments, place: SourcePlace, frame: Frame) -> Value:
    """`Graph(nodes=[…])`."""
    nodes = given.get(-1, "nodes") or (given.positional[0] if given.positional else None)
    held = nodes.thing.items if nodes is not None and isinstance(nodes.thing, Items) else []
    classes = [n.thing for n in held if isinstance(n.thing, ClassValue)]
    graph = declare(reader, classes, frame.name, place)
    reader.graphs.append(graph)
    return Value(GraphValue(graph))


def declare(reader: Reader, classes: list[ClassValue], name: str, place: SourcePlace = NOWHERE) -> DeclaredGraph:
    """A graph of these node classes."""
    graph = DeclaredGraph(name, place, kind=KIND, compiled=True, ends="no cap")
    by_name = {c.node.name: c for c in classes}
    for cls in classes:
        run = member(cls, "run")
        if run is None or not isinstance(run.thing, FunctionValue):
            continue
        method = run.thing
        targets = tuple(dict.fromkeys(_targets(reader, method, by_name)))
        node = DeclaredNode(cls.node.name, run, cls.module.place(cls.node), targets or None)
        node.enter = lambda state, cls=cls, method=method: _enter(cls, method, state, by_name)
        graph.nodes[node.name] = node
        _state(reader, cls, graph)
    return graph


def _targets(reader: Reader, run: FunctionValue, by_name: dict[str, ClassValue]) -> list[str]:
    names = [class_name_of(v) for v in named_in(reader, run, getattr(run.node, "returns", None))]
    return [END if n == "End" else n for n in names if n in by_name or n == "End"]


def _state(reader: Reader, cls: ClassValue, graph: DeclaredGraph) -> None:
    """`BaseNode[State, …]`: the keys of the state."""
    for base in cls.node.bases:
        match base:
            case ast.Subscript(slice=ast.Tuple(elts=[first, *_])) | ast.Subscript(slice=first) if not graph.schema:
                read_schema(reader.value(first, Frame(cls.module, Scope(cls.scope), depth=2)), graph)
            case _:
                continue


def _enter(cls: ClassValue, run: FunctionValue, state: StateValue, by_name: dict[str, ClassValue]) -> Entry:
    name = cls.node.name
    holder = Value(Instance(cls, fields_of(cls, name)))
    context = Value(Handle({"state": Value(state), "deps": data(FIXED)}, no_methods))
    return Entry(bound_to(run, holder), Arguments([context]), lambda value: _gives(value, by_name))


def _gives(value: Value, by_name: dict[str, ClassValue]) -> Value:
    name = class_name_of(value)
    match value.thing:
        case Instance() if name in by_name:
            return Value(CommandValue(const(name), Value(Table({name: value}))))
        case ClassValue() if name in by_name:
            return Value(CommandValue(const(name), None))
        case External() if name == "End":
            return Value(CommandValue(const(END), None))
        case _:
            return Value(CommandValue(value, None))


def loose_graphs(reader: Reader, classes: list[ClassValue]) -> list[DeclaredGraph]:
    """Graphs of node classes that stand in no `Graph(…)` in sight: those that lead to one another are one."""
    placed = {n for g in reader.graphs if g.kind == KIND for n in g.nodes}
    left = [c for c in classes if framework_of(c) == "pydantic-graph" and c.node.name not in placed]
    left = [c for c in left if member(c, "run") is not None and any(True for _ in bases(c))]
    whole = declare(reader, left, "")
    groups: list[set[str]] = []
    for node in whole.nodes.values():
        group = {node.name, *(t for t in node.destinations or () if t in whole.nodes)}
        touching = [g for g in groups if g & group]
        groups = [g for g in groups if not g & group] + [group.union(*touching)]
    found: list[DeclaredGraph] = []
    for group in groups:
        members = [c for c in left if c.node.name in group]
        if len(group) > 1 or any(n in (whole.nodes[n].destinations or ()) for n in group):
            graph = declare(reader, members, members[0].node.name, members[0].module.place(members[0].node))
            found.append(graph)
    return found
