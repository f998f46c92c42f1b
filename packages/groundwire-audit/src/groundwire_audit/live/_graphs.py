"""Reads a builder or a compiled graph: what was declared to it, never how it would be drawn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeGuard, cast

from groundwire_audit._report import NOWHERE, AuditReport, GraphReport, Grounding, Level, Loop, Mode, SourcePlace
from groundwire_audit.judging._audit_graph import audit_graphs
from groundwire_audit.judging._loops import cycles
from groundwire_audit.live._code import Wired
from groundwire_audit.live._lift import ObjectLifter, line_of_classes, raw
from groundwire_audit.reading._graph import DeclaredBranch, DeclaredEdge, DeclaredGraph, DeclaredNode
from groundwire_audit.reading._langgraph_calls import read_schema
from groundwire_audit.reading._modules import ModuleFinder
from groundwire_audit.reading._source_reader import SourceReader
from groundwire_audit.reading._values import FunctionValue, Instance, Partial, Value

# A graph whose gates are declared and enforced says itself what opens each step.


class GatedEdge(Protocol):
    """A step that can be taken. `gate`: `refine`, `advance`, or none."""

    @property
    def source(self) -> str:
        """The node that it leaves."""
        ...

    @property
    def target(self) -> str:
        """The node that it enters."""
        ...

    @property
    def gate(self) -> str | None:
        """What opens it."""
        ...


class GatedWiring(Protocol):
    """All nodes with their roles, and all steps."""

    @property
    def roles(self) -> Mapping[str, str]:
        """Node → role: `actor`, `critic`, `tool` …"""
        ...

    @property
    def edges(self) -> Collection[GatedEdge]:
        """The steps."""
        ...


class GatedGraph(Protocol):
    """A graph that enforces its gates at run time: groundwire's FeedbackGraph, compiled or not.

    It is believed only where the method is that of a class of groundwire, whose runtime does enforce them.
    """

    def __gated_wiring__(self) -> GatedWiring:
        """Its wiring, nested graphs spelt out."""
        ...


def is_gated(thing: object) -> TypeGuard[GatedGraph]:
    """True for a FeedbackGraph, compiled or not."""
    return any(c.__module__.split(".")[0] == "groundwire" and GATED in vars(c) for c in type(thing).__mro__)


def audit_gated(thing: GatedGraph, mode: Mode, target: str) -> AuditReport:
    """Each loop with the gate that opens it."""
    wiring = thing.__gated_wiring__()
    edges = [(e.source, e.target, str(e.gate)) for e in wiring.edges]
    gates = {(a, b): gate for a, b, gate in edges}
    steps: dict[str, list[str]] = {}
    for source, to, _ in edges:
        steps.setdefault(source, []).append(to)
    names = [n for n in dict.fromkeys([*wiring.roles]) if n in steps]
    loops = [_gated_loop(c, gates, {n: str(r) for n, r in wiring.roles.items()}) for c in cycles(names, steps)[0]]
    shown = tuple((a, b, next((str(x.verdict) for x in loops if _holds(x, a, b)), "")) for a, b, _ in edges)
    name = str(getattr(thing, "name", "") or "feedback")
    return AuditReport(target or name, (GraphReport(name, mode, nodes=tuple(names), edges=shown, loops=tuple(loops)),))


def _holds(loop: Loop, source: str, target: str) -> bool:
    return (source, target) in zip(loop.nodes, (*loop.nodes[1:], loop.nodes[0]), strict=True)


def _gated_loop(cycle: tuple[str, ...], gates: dict[tuple[str, str], str], roles: dict[str, str]) -> Loop:
    crossed = [gates.get(pair, "") for pair in zip(cycle, (*cycle[1:], cycle[0]), strict=True)]
    if "refine" in crossed:
        return Loop(Grounding.GROUNDED, "gate refine", cycle, "opens only on a sealed FAIL of the current candidate")
    if "advance" in crossed:
        return Loop(
            Grounding.TOOL_LOOP, "gate advance", cycle, "advances on sealed observations only; nothing rewrites"
        )
    if not {roles.get(n, "unknown") for n in cycle} & {"actor", "critic", "unknown"}:
        return Loop(Grounding.WORKLIST, "no model", cycle, "no actor or critic is in this loop")
    return Loop(Grounding.UNGROUNDED, "no gate", cycle, "no gate is on this loop: compile() refuses it", Level.ERROR)


GATED = "__gated_wiring__"
APPENDING = frozenset({"BinaryOperatorAggregate", "Topic", "DeltaChannel"})
REPLACING = frozenset({"_replace", "replace", "overwrite", "last", "keep_last"})


def is_graph(thing: object) -> bool:
    """True for a builder, a compiled graph, a functional flow, or a FeedbackGraph."""
    return is_gated(thing) or _is_builder(thing) or _is_compiled(thing)


def audit_object(
    thing: object,
    *,
    roles: Mapping[str, str] | None = None,
    mode: Mode = Mode.OBJECT,
    target: str = "",
    base: Path | None = None,
) -> AuditReport:
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
    if is_gated(thing):
        return audit_gated(thing, mode, target)
    reader = SourceReader(ModuleFinder([Path.cwd(), Path.cwd() / "src"], base or Path.cwd()))
    reader.roles = dict(roles or {})
    graph = read_graph(reader, thing)
    if graph is None:
        raise TypeError(f"{type(thing).__name__} is no graph")
    graph.name = graph.name or "graph"
    reports = tuple(audit_graphs(reader, [graph], mode))
    return AuditReport(target or graph.name, reports, tuple(reader.unused_roles()))


def read_graph(reader: SourceReader, thing: object) -> DeclaredGraph | None:
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


def _read(lifter: ObjectLifter, thing: object) -> DeclaredGraph | None:
    """The graph of an object, or None for any other object."""
    if _is_builder(thing):
        return _read_builder(lifter, thing, DeclaredGraph(""))
    if not _is_compiled(thing):
        return None
    graph = DeclaredGraph(str(raw(thing, "name") or ""), compiled=True)
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


def _read_functional(lifter: ObjectLifter, thing: object, graph: DeclaredGraph) -> DeclaredGraph:
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


def _read_builder(lifter: ObjectLifter, builder: object, graph: DeclaredGraph) -> DeclaredGraph:
    _schema(lifter, builder, graph)
    if any(c.endswith(".MessageGraph") for c in line_of_classes(builder)):
        graph.kind = "message"
    for name, spec in cast("dict[str, object]", raw(builder, "nodes") or {}).items():
        action = lifter.lift(raw(spec, "runnable"))
        ends: object = raw(spec, "ends")
        targets = tuple(str(e) for e in cast("Iterable[object]", ends)) if ends else None
        handler = raw(spec, "error_handler_node")
        graph.nodes[name] = DeclaredNode(
            name, action, _place(action), targets, error_handler=str(handler) if handler else ""
        )
    for source, target in sorted(cast("set[tuple[str, str]]", raw(builder, "edges") or set())):
        graph.edges.append(DeclaredEdge(source, target))
    for sources, target in sorted(cast("set[tuple[tuple[str, ...], str]]", raw(builder, "waiting_edges") or set())):
        graph.edges += [DeclaredEdge(s, target, joins=tuple(sources)) for s in sources]
    for source, branches in cast("dict[str, dict[str, object]]", raw(builder, "branches") or {}).items():
        for branch in branches.values():
            graph.branches.append(_branch(lifter, source, branch))
    Wired(lifter.reader.finder).place(graph)
    return graph


def _branch(lifter: ObjectLifter, source: str, branch: object) -> DeclaredBranch:
    # a named tuple in newer versions, so that its parts are not in its __dict__
    path, ends = getattr(branch, "path", None), getattr(branch, "ends", None)
    router = lifter.lift(path)
    return DeclaredBranch(source, router, dict(ends) if ends is not None else None, _place(router))


def _schema(lifter: ObjectLifter, builder: object, graph: DeclaredGraph) -> None:
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


def _place(action: Value) -> SourcePlace:
    match action.thing:
        case FunctionValue(node=node, module=module):
            return module.place(node)
        case Partial(function=inner):
            return _place(inner)
        case Instance(of=cls):
            return cls.module.place(cls.node)
        case _:
            return NOWHERE
