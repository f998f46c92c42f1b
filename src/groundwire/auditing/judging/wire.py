"""All steps that a graph can take: by edges, by routers, and by jumps."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.auditing.conditions import ALWAYS, Formula, Test, all_of, negate, paths, when
from groundwire.auditing.declared_graph import END, START, Branch, Graph, GraphValue, Node
from groundwire.auditing.judging.destinations import annotated, literal_names
from groundwire.auditing.judging.steps import Edge, Way, Wiring
from groundwire.auditing.nodes.collect import facts_of_graph
from groundwire.auditing.nodes.following import follow_action, function_of, state_of
from groundwire.auditing.reading.externals import READY_MADE
from groundwire.auditing.reading.frames import Effect, Frame
from groundwire.auditing.reading.merging import deep, options
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.report import Finding, Level
from groundwire.auditing.taints import Kind, Taint, reason
from groundwire.auditing.values import Const, External, Items, Model, Scope, Send, Table, Value

__all__ = ["add_jumps", "add_routes", "wire"]

# Where a node can jump with a Command or Send, and when.


def add_jumps(reader: Reader, wiring: Wiring, node: Node) -> None:
    """Adds each step that a node can take by itself."""
    facts = wiring.facts[node.name]
    function, _, _ = function_of(reader, node.action, Frame(reader.nowhere, Scope(), depth=2))
    annotated = literal_names(
        reader, function, getattr(function.node, "returns", None) if function is not None else None
    )
    declared = (
        node.destinations if node.destinations is not None else tuple(annotated) if annotated is not None else None
    )
    for jump in facts.jumps:
        if jump.to_parent:
            wiring.to_parent.add(node.name)
            continue
        for value, formula in options(jump.target):
            _jump(wiring, node, declared, value, all_of([jump.when, formula]), jump.asked)
    if not facts.jumps and declared and not _is_graph(node):
        # declared, and not seen to jump: whatever does it is out of sight
        unseen = when(
            Test(frozenset({Taint(Kind.UNKNOWN, f"{node.name} declares jumps that are not in sight")}), text="?")
        )
        opens = ALWAYS if facts.declared else unseen
        for target in declared:
            wiring.add(Edge(node.name, target, [Way(p, before=True) for p in paths(opens)], "jump", node.place))


def _is_graph(node: Node) -> bool:
    return isinstance(node.action.thing, GraphValue)


def _jump(
    wiring: Wiring, node: Node, declared: tuple[str, ...] | None, value: Value, opens: Formula, asked: frozenset[Effect]
) -> None:
    match value.thing:
        case Items(items=held, rest=rest):
            for item in (*held, *([rest] if rest is not None else [])):
                for inner, formula in options(item):
                    _jump(wiring, node, declared, inner, all_of([opens, formula]), asked)
        case Send(target=target):
            for inner, formula in options(target):
                _jump(wiring, node, declared, inner, all_of([opens, formula]), asked)
        case Const(value=str(name)):
            _jump_to(wiring, node, declared, {"END": END}.get(name, name), opens, asked)
        case External(path=path) if path.endswith(".END"):
            _jump_to(wiring, node, declared, END, opens, asked)
        case Const() | Table():
            pass
        case _ if declared is not None:
            for target in declared:
                chosen = when(Test(deep(value), text=f"the jump names {target!r}", constant=True))
                _jump_to(wiring, node, declared, target, all_of([opens, chosen]), asked)
        case _:
            said = f"{node.name} jumps with Command(goto=…) to undeclared targets: declare them"
            wiring.anywhere.setdefault(node.name, (said, node.place))


def _jump_to(
    wiring: Wiring, node: Node, declared: tuple[str, ...] | None, target: str, opens: Formula, asked: frozenset[Effect]
) -> None:
    if target not in wiring.graph.nodes and target not in {END, START}:
        wiring.findings.append(
            Finding("unknown-target", f"{node.name} can jump to {target!r}, which is no node.", node.place)
        )
        return
    if declared is not None and target not in declared:
        message = f"{node.name} can jump to {target!r}, which it does not declare ({', '.join(declared)})."
        wiring.findings.append(Finding("undeclared-jump", message, node.place, Level.WARNING))
    wiring.add(Edge(node.name, target, [Way(p, before=True, asked=asked) for p in paths(opens)], "jump", node.place))


# Where the router of a conditional edge can lead, and when.

ASK = frozenset({Taint(Kind.ASK)})


def add_routes(reader: Reader, wiring: Wiring, branch: Branch) -> None:
    """Adds each step that a router can choose."""
    graph = wiring.graph
    ready = _ready_made(branch)
    if ready is not None:
        _to_all(wiring, branch, ready)
        return
    state = state_of(reader, graph)
    frame, outcomes = follow_action(reader, branch.router, state, "router")
    wiring.router_effects[branch.source] = (*wiring.router_effects.get(branch.source, ()), *frame.effects)
    ends = branch.ends if branch.ends is not None else annotated(reader, branch.router)
    asks = any(e.kind is Kind.MODEL for e in frame.effects)
    for outcome in outcomes:
        for value, formula in options(outcome.value):
            _route(wiring, branch, ends, value, all_of([outcome.when, formula]), asks=asks)


def _ready_made(branch: Branch) -> Formula | None:
    """The condition of a router of a library that is known."""
    match branch.router.thing:
        case External(path=path) if path.endswith("tools_condition") or path.startswith(READY_MADE):
            return when(Test(ASK, text="the model asks for a tool"))
        case Model(label=label):
            return when(Test(frozenset({Taint(Kind.MODEL, "fields", label)}), text="the model chooses"))
        case _:
            return None


def _to_all(wiring: Wiring, branch: Branch, condition: Formula) -> None:
    ends = branch.ends or {"tools": "tools", END: END}
    for target in dict.fromkeys(ends.values()):
        opens = negate(condition) if target == END else condition
        _step(wiring, branch, target, opens, "branch", asks=False)


def _route(
    wiring: Wiring, branch: Branch, ends: Mapping[object, str] | None, value: Value, opens: Formula, *, asks: bool
) -> None:
    """One thing that a router may return."""
    match value.thing:
        case Items(items=held, rest=rest):
            for item in (*held, *([rest] if rest is not None else [])):
                for inner, formula in options(item):
                    _route(wiring, branch, ends, inner, all_of([opens, formula]), asks=asks)
        case Send(target=target):
            for inner, formula in options(target):
                known = isinstance(inner.thing, Const) and isinstance(inner.thing.value, str)
                _route(wiring, branch, ends if not known else None, inner, all_of([opens, formula]), asks=asks)
        case Const(value=None):
            pass
        case Const(value=label):
            _to_label(wiring, branch, ends, label, opens, asks=asks)
        case External(path=path) if path.endswith((".END", ".START")):
            _to_label(wiring, branch, ends, END, opens, asks=asks)
        case _:
            _dynamic(wiring, branch, ends, value, opens, asks=asks)


def _to_label(
    wiring: Wiring, branch: Branch, ends: Mapping[object, str] | None, label: object, opens: Formula, *, asks: bool
) -> None:
    if ends is not None:
        if label in ends:
            _step(wiring, branch, ends[label], opens, "branch", asks=asks)
        elif branch.ends is not None:
            known = ", ".join(repr(k) for k in ends)
            wiring.findings.append(
                Finding(
                    "label-not-in-map",
                    f"The router of {branch.source} can return {label!r}, which its map does not hold ({known}): "
                    "a KeyError.",
                    branch.place,
                )
            )
        else:
            _step(wiring, branch, str(label), opens, "branch", asks=asks)
        return
    target = str(label)
    if target != END and target not in wiring.graph.nodes and branch.hidden_map:
        wiring.anywhere.setdefault(
            branch.source, (f"the map of the router of {branch.source} is not in sight", branch.place)
        )
        return
    if target != END and target not in wiring.graph.nodes:
        near = ", ".join(wiring.graph.nodes)
        wiring.findings.append(
            Finding(
                "unknown-target",
                f"The router of {branch.source} can return {target!r}, which is no node ({near}): the run would end "
                "there, silently.",
                branch.place,
            )
        )
        return
    _step(wiring, branch, target, opens, "branch", asks=asks)


def _dynamic(
    wiring: Wiring, branch: Branch, ends: Mapping[object, str] | None, value: Value, opens: Formula, *, asks: bool
) -> None:
    """A router that returns what it read somewhere."""
    test = Test(deep(value), text="what is read there")
    if ends is not None:
        labelled = all(isinstance(k, bool) for k in ends)
        for label, target in ends.items():
            chosen = (
                when(test, holds=bool(label))
                if labelled
                else when(Test(test.left, text=f"it names {label!r}", constant=True))
            )
            _step(wiring, branch, target, all_of([opens, chosen]), "branch", asks=asks)
        return
    why = reason(deep(value)) or "it is read from the state"
    wiring.anywhere.setdefault(branch.source, (f"the router of {branch.source} may lead anywhere: {why}", branch.place))


def _step(wiring: Wiring, branch: Branch, target: str, opens: Formula, kind: str, *, asks: bool) -> None:
    ways = [Way(p) for p in paths(opens)]
    if ways:
        wiring.add(Edge(branch.source, target, ways, kind, branch.place, asks_model=asks))


# Puts together all steps that a graph can take.


def wire(reader: Reader, graph: Graph) -> Wiring:
    """Reads nodes and routers, and puts the steps together."""
    wiring = Wiring(graph, facts_of_graph(reader, graph))
    for edge in graph.edges:
        if edge.source in wiring.facts and wiring.facts[edge.source].leaves:
            continue
        wiring.add(Edge(edge.source, edge.target, [Way()], "edge", edge.place, edge.joins))
    for branch in graph.branches:
        add_routes(reader, wiring, branch)
    for node in graph.nodes.values():
        add_jumps(reader, wiring, node)
        if node.error_handler in graph.nodes:
            failed = Test(frozenset({Taint(Kind.FORM, what="exception")}), text=f"an exception of {node.name}")
            wiring.add(Edge(node.name, node.error_handler, [Way(p) for p in paths(when(failed))], "branch", node.place))
    return wiring
