"""Reads a builder or a compiled graph: what was declared to it, never how it would be drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from groundwire.auditing.declared_graph import Branch, Graph, Node, StaticEdge
from groundwire.auditing.judging.audit_graph import audit_graphs
from groundwire.auditing.live.lift import ObjectLifter
from groundwire.auditing.live.names import line_of_classes, raw
from groundwire.auditing.live.own import audit_own, is_own
from groundwire.auditing.live.wired import Wired
from groundwire.auditing.places import NOWHERE, Place
from groundwire.auditing.reading.builders import read_schema
from groundwire.auditing.reading.reader import SourceReader
from groundwire.auditing.report import Mode, Report
from groundwire.auditing.source.modules import ModuleFinder
from groundwire.auditing.values import Function, Instance, Partial, Value

__all__ = ["audit_object", "is_graph", "read_graph"]

APPENDING = frozenset({"BinaryOperatorAggregate", "Topic", "DeltaChannel"})
REPLACING = frozenset({"_replace", "replace", "overwrite", "last", "keep_last"})


def is_graph(thing: object) -> bool:
    """True for a builder, a compiled graph, a functional flow, or a FeedbackGraph of ours."""
    return is_own(thing) or _is_builder(thing) or _is_compiled(thing)


def audit_object(
    thing: object,
    *,
    roles: Mapping[str, str] | None = None,
    mode: Mode = Mode.OBJECT,
    target: str = "",
    base: Path | None = None,
) -> Report:
    """Audits a graph that is handed over.

    Args:
        thing: builder or compiled graph.
        roles: node or tool → declared role.
        mode: how it was come by.
        target: how it was named.
        base: what file names are relative to; None: the current folder.

    Raises:
        TypeError: it is no graph.
    """
    if is_own(thing):
        return audit_own(thing, mode, target)
    reader = SourceReader(ModuleFinder([Path.cwd(), Path.cwd() / "src"], base or Path.cwd()))
    reader.roles = dict(roles or {})
    graph = read_graph(reader, thing)
    if graph is None:
        raise TypeError(f"{type(thing).__name__} is no graph")
    graph.name = graph.name or "graph"
    reports = tuple(audit_graphs(reader, [graph], mode))
    return Report(target or graph.name, reports, tuple(reader.unused_roles()))


def read_graph(reader: SourceReader, thing: object) -> Graph | None:
    """What was declared to a builder or compiled graph; None for any other object."""
    lifter = ObjectLifter(reader, _read)
    reader.live = lifter
    return _read(lifter, thing)


def _is_builder(thing: object) -> bool:
    line = line_of_classes(thing)
    return any(
        c.startswith("langgraph.") and c.rsplit(".", 1)[-1] in {"StateGraph", "Graph", "MessageGraph"} for c in line
    )


def _is_compiled(thing: object) -> bool:
    return any(c.startswith("langgraph.") and c.rsplit(".", 1)[-1] == "Pregel" for c in line_of_classes(thing))


def _read(lifter: ObjectLifter, thing: object) -> Graph | None:
    """The graph of an object, or None for any other object."""
    if _is_builder(thing):
        return _read_builder(lifter, thing, Graph(""))
    if not _is_compiled(thing):
        return None
    graph = Graph(str(raw(thing, "name") or ""), compiled=True)
    graph.name = "" if graph.name == "LangGraph" else graph.name
    limit = cast("Any", raw(thing, "config") or {}).get("recursion_limit")
    graph.recursion_limit = limit if isinstance(limit, int) else None
    builder = raw(thing, "builder")
    if builder is None:
        return _read_functional(lifter, thing, graph)
    for option in ("interrupt_before_nodes", "interrupt_after_nodes"):
        held: object = raw(thing, option)
        graph.gates |= {held} if isinstance(held, str) else set(map(str, cast("Iterable[object]", held or ())))
    return _read_builder(lifter, builder, graph)


def _read_functional(lifter: ObjectLifter, thing: object, graph: Graph) -> Graph:
    """A flow of the functional API: one node, whose loops are in its source."""
    nodes = cast("dict[str, object]", raw(thing, "nodes") or {})
    if len(nodes) != 1:
        graph.kind = "remote"
        return graph
    name, node = next(iter(nodes.items()))
    graph.kind, graph.name = "functional", name
    graph.body = lifter.lift(raw(node, "bound"))
    graph.place = _place(graph.body)
    return graph


def _read_builder(lifter: ObjectLifter, builder: object, graph: Graph) -> Graph:
    _schema(lifter, builder, graph)
    if any(c.endswith(".MessageGraph") for c in line_of_classes(builder)):
        graph.kind = "message"
    for name, spec in cast("dict[str, object]", raw(builder, "nodes") or {}).items():
        action = lifter.lift(raw(spec, "runnable"))
        ends: object = raw(spec, "ends")
        targets = tuple(str(e) for e in cast("Iterable[object]", ends)) if ends else None
        handler = raw(spec, "error_handler_node")
        graph.nodes[name] = Node(name, action, _place(action), targets, error_handler=str(handler) if handler else "")
    for source, target in sorted(cast("set[tuple[str, str]]", raw(builder, "edges") or set())):
        graph.edges.append(StaticEdge(source, target))
    for sources, target in sorted(cast("set[tuple[tuple[str, ...], str]]", raw(builder, "waiting_edges") or set())):
        graph.edges += [StaticEdge(s, target, joins=tuple(sources)) for s in sources]
    for source, branches in cast("dict[str, dict[str, object]]", raw(builder, "branches") or {}).items():
        for branch in branches.values():
            graph.branches.append(_branch(lifter, source, branch))
    Wired(lifter.reader.finder).place(graph)
    return graph


def _branch(lifter: ObjectLifter, source: str, branch: object) -> Branch:
    # a named tuple in newer versions, so that its parts are not in its __dict__
    path, ends = getattr(branch, "path", None), getattr(branch, "ends", None)
    router = lifter.lift(path)
    return Branch(source, router, dict(ends) if ends is not None else None, _place(router))


def _schema(lifter: ObjectLifter, builder: object, graph: Graph) -> None:
    schema = raw(builder, "state_schema") or raw(builder, "schema")
    if schema is not None:
        read_schema(lifter.lift(schema), graph)
    channels = cast("dict[str, object]", raw(builder, "channels") or {})
    for name, channel in channels.items():
        reducer = getattr(raw(channel, "operator"), "__name__", "")
        if type(channel).__name__ in APPENDING and reducer not in REPLACING:
            graph.appends.add(name)
        else:
            graph.appends.discard(name)
    graph.appends = {"*"} if set(channels) == {"__root__"} else graph.appends


def _place(action: Value) -> Place:
    match action.thing:
        case Function(node=node, module=module):
            return module.place(node)
        case Partial(function=inner):
            return _place(inner)
        case Instance(of=cls):
            return cls.module.place(cls.node)
        case _:
            return NOWHERE
