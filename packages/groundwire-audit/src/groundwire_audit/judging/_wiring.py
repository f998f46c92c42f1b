"""Steps that a graph can take, the ways in which each opens, and where routers and nodes say that they lead."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from groundwire_audit._report import NOWHERE, Finding, Level, SourcePlace
from groundwire_audit.reading._calls import READY_MADE
from groundwire_audit.reading._conditions import (
    ALWAYS,
    Formula,
    Literal,
    Taint,
    TaintKind,
    Test,
    all_of,
    negate,
    paths,
    reason,
    when,
)
from groundwire_audit.reading._frames import Effect, Frame, deep, is_asked, options, text_of
from groundwire_audit.reading._graph import END, START, DeclaredBranch, DeclaredGraph, DeclaredNode, GraphValue
from groundwire_audit.reading._graph_methods import name_of
from groundwire_audit.reading._members import bases, member
from groundwire_audit.reading._nodes import (
    WayOut,
    facts_of_graph,
    facts_of_node,
    follow_action,
    function_of,
    state_of,
)
from groundwire_audit.reading._reader import Facts, Reader, TooComplex, Write
from groundwire_audit.reading._values import (
    Bound,
    ClassValue,
    Const,
    External,
    FunctionValue,
    Instance,
    Items,
    ModelValue,
    Partial,
    Scope,
    SendValue,
    Table,
    Value,
    unknown,
)

# Destinations that a router or node declares in its annotation.


def annotated(reader: Reader, router: Value) -> dict[object, str] | None:
    """Label → node of a router's `Literal[…]`; None where it has none."""
    function, _, _ = function_of(reader, router, Frame(reader.nowhere, Scope(), depth=2))
    names = literal_names(reader, function, getattr(function.node, "returns", None)) if function is not None else None
    return {n: n for n in names} if names is not None else None


def literal_names(reader: Reader, function: FunctionValue | None, annotation: ast.expr | None) -> list[str] | None:
    """The names in `Literal[…]`, also inside `Command[…]`; None where there is none."""
    if function is None or annotation is None:
        return None
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return None
    if not isinstance(annotation, ast.Subscript):
        return None
    outer = annotation.value
    name = outer.attr if isinstance(outer, ast.Attribute) else outer.id if isinstance(outer, ast.Name) else ""
    if name == "Command":
        return literal_names(reader, function, annotation.slice)
    if name != "Literal":
        return None
    inner = annotation.slice
    frame = Frame(function.module, Scope(function.scope), depth=2)
    value = reader.value(inner if isinstance(inner, ast.Tuple) else ast.Tuple([inner], ast.Load()), frame)
    if not isinstance(value.thing, Items) or value.thing.rest is not None:
        return None
    return [name_of(i, "?") for i in value.thing.items]


# Steps that a graph can take, and the ways in which each opens.


@dataclass(frozen=True)
class EdgeWay:
    """One way in which an edge opens: all its literals hold.

    Args:
        literals: what must hold.
        before: they read the state as it was before the source ran (a jump), not after (a router).
        asked: of a jump: what the source surely asked on this way.
    """

    literals: frozenset[Literal] = frozenset()
    before: bool = False
    asked: frozenset[Effect] = frozenset()


@dataclass
class WiredEdge:
    """A step that can be taken. `kind`: edge, branch, jump or send."""

    source: str
    target: str
    ways: list[EdgeWay] = field(default_factory=list[EdgeWay])
    kind: str = "edge"
    place: SourcePlace = NOWHERE
    joins: tuple[str, ...] = ()
    asks_model: bool = False
    """Its router asks a model itself."""


@dataclass
class WiredGraph:
    """A graph with all its steps.

    Args:
        graph: as declared.
        facts: of each node.
        edges: at most one for each pair of nodes.
        anywhere: nodes that may lead to any other, and why.
        router_effects: what the routers of a node ask.
        router_asks: nodes after which a router asks a person, whichever way it then takes.
    """

    graph: DeclaredGraph
    facts: dict[str, Facts]
    edges: dict[tuple[str, str], WiredEdge] = field(default_factory=dict[tuple[str, str], WiredEdge])
    anywhere: dict[str, tuple[str, SourcePlace]] = field(default_factory=dict[str, tuple[str, SourcePlace]])
    router_effects: dict[str, tuple[Effect, ...]] = field(default_factory=dict[str, tuple[Effect, ...]])
    router_asks: set[str] = field(default_factory=set[str])
    findings: list[Finding] = field(default_factory=list[Finding])
    to_parent: set[str] = field(default_factory=set[str])
    """Nodes from which a jump leaves the graph for the one around it."""

    def add(self, edge: WiredEdge) -> None:
        """Adds a step; more ways where there is one already."""
        known = self.edges.get((edge.source, edge.target))
        if known is None:
            self.edges[edge.source, edge.target] = edge
        else:
            known.ways += edge.ways
            known.joins = known.joins or edge.joins
            known.asks_model |= edge.asks_model
            known.place = known.place if known.place != NOWHERE else edge.place


# All steps that a graph can take: by edges, by routers, and by jumps.

# Where a node can jump with a Command or Send, and when.


def add_jumps(reader: Reader, wiring: WiredGraph, node: DeclaredNode) -> None:
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
            Test(frozenset({Taint(TaintKind.UNKNOWN, f"{node.name} declares jumps that are not in sight")}), text="?")
        )
        opens = ALWAYS if facts.declared else unseen
        for target in declared:
            wiring.add(
                WiredEdge(node.name, target, [EdgeWay(p, before=True) for p in paths(opens)], "jump", node.place)
            )


def _is_graph(node: DeclaredNode) -> bool:
    return isinstance(node.action.thing, GraphValue)


def _jump(
    wiring: WiredGraph,
    node: DeclaredNode,
    declared: tuple[str, ...] | None,
    value: Value,
    opens: Formula,
    asked: frozenset[Effect],
) -> None:
    match value.thing:
        case Items(items=held, rest=rest):
            for item in (*held, *([rest] if rest is not None else [])):
                for inner, formula in options(item):
                    _jump(wiring, node, declared, inner, all_of([opens, formula]), asked)
        case SendValue(target=target):
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
    wiring: WiredGraph,
    node: DeclaredNode,
    declared: tuple[str, ...] | None,
    target: str,
    opens: Formula,
    asked: frozenset[Effect],
) -> None:
    if target not in wiring.graph.nodes and target not in {END, START}:
        wiring.findings.append(
            Finding("unknown-target", f"{node.name} can jump to {target!r}, which is no node.", node.place)
        )
        return
    if declared is not None and target not in declared:
        message = f"{node.name} can jump to {target!r}, which it does not declare ({', '.join(declared)})."
        wiring.findings.append(Finding("undeclared-jump", message, node.place, Level.WARNING))
    wiring.add(
        WiredEdge(node.name, target, [EdgeWay(p, before=True, asked=asked) for p in paths(opens)], "jump", node.place)
    )


# Where the router of a conditional edge can lead, and when.

ASK = frozenset({Taint(TaintKind.ASK)})


def add_routes(reader: Reader, wiring: WiredGraph, branch: DeclaredBranch) -> None:
    """Adds each step that a router can choose."""
    graph = wiring.graph
    if branch.opens is not None:
        for target, opens in branch.opens.items():
            _step(wiring, branch, target, opens, "branch", asks=False)
        return
    ready = _ready_made(branch)
    if ready is not None:
        _to_all(wiring, branch, ready)
        return
    effects, outcomes = _followed(reader, graph, branch)
    wiring.router_effects[branch.source] = (*wiring.router_effects.get(branch.source, ()), *effects)
    if outcomes and all(is_asked(o.asked, TaintKind.HUMAN) for o in outcomes):
        wiring.router_asks.add(branch.source)
    ends = branch.ends if branch.ends is not None else annotated(reader, branch.router)
    asks = any(e.kind is TaintKind.MODEL for e in effects)
    undefined = _undefined(branch.router)
    if undefined:
        said = f"The router of {branch.source}, {undefined}, is defined nowhere."
        wiring.findings.append(Finding("undefined-router", said, branch.place))
    for outcome in outcomes:
        for value, formula in options(outcome.value):
            _route(wiring, branch, ends, value, all_of([outcome.when, formula]), asks=asks)
    if ends is not None and not _is_plain(function_of(reader, branch.router, Frame(reader.nowhere, Scope()))[0]):
        _keep_declared(wiring, branch, set(ends.values()))


def _undefined(router: Value) -> str:
    """The name of a method that a class in sight, and all of its bases in sight, do not have; or empty."""
    match router.thing:
        case Bound(owner=Value(thing=Instance(of=cls)), name=name) if _is_whole(cls) and name not in cls.annotations:
            return f"{cls.node.name}.{name}"
        case _:
            return ""


def _is_whole(cls: ClassValue) -> bool:
    """True if all that a class has is in sight: no base of a library, nothing that is made up when it is asked for."""
    plain = ("abc.", "typing.", "builtins.object", "typing_extensions.")
    outside = [b for b in bases(cls) if not isinstance(b.thing, ClassValue)]
    known = all(isinstance(b.thing, External) and b.thing.path.startswith(plain) for b in outside)
    made_up = any(member(cls, n) is not None for n in ("__getattr__", "__getattribute__"))
    decorated = bool(cls.node.decorator_list)
    return known and not made_up and not decorated and not any(n for n in ast.walk(cls.node) if _sets_names(n))


def _sets_names(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"setattr", "vars"}


STRAIGHT = (
    *(ast.Return, ast.If, ast.Assign, ast.AnnAssign, ast.Expr, ast.Pass, ast.AugAssign, ast.Match),
    *(ast.FunctionDef, ast.AsyncFunctionDef),
)


def _is_plain(function: FunctionValue | None) -> bool:
    """True if a router is tests and returns of constants, so that what it is not seen to return it never does."""
    if function is None:
        return False
    body = [function.node.body] if isinstance(function.node, ast.Lambda) else function.node.body
    nodes = [n for part in body for n in ast.walk(part)]
    straight = all(isinstance(n, STRAIGHT) for n in nodes if isinstance(n, ast.stmt))
    returned = [n.value for n in nodes if isinstance(n, ast.Return)]
    return straight and all(isinstance(v, ast.Constant | ast.Name | ast.Attribute | ast.IfExp | None) for v in returned)


def _keep_declared(wiring: WiredGraph, branch: DeclaredBranch, ends: set[str]) -> None:
    """Steps that a map or annotation declares, and that a router which is not seen through is not seen to choose."""
    seen = {t for s, t in wiring.edges if s == branch.source}
    for target in sorted(ends - seen - {END}):
        why = f"{branch.source} declares a way to {target}, and when it is taken is not in sight"
        opens = when(Test(frozenset({Taint(TaintKind.UNKNOWN, why)}), text=f"the router names {target!r}"))
        _step(wiring, branch, target, opens, "branch", asks=False)


def _followed(reader: Reader, graph: DeclaredGraph, branch: DeclaredBranch) -> tuple[tuple[Effect, ...], list[WayOut]]:
    """What a router asks, and its ways out."""
    try:
        with reader.share():
            frame, outcomes = follow_action(reader, branch.router, state_of(reader, graph), "router")
            return tuple(frame.effects), outcomes
    except (RecursionError, TooComplex):
        why = f"too complex: the router of {branch.source} is too large to follow"
        return (Effect(TaintKind.UNKNOWN, why, "router", branch.place),), [WayOut(unknown(why), ALWAYS, frozenset())]


def _ready_made(branch: DeclaredBranch) -> Formula | None:
    """The condition of a router of a library that is known."""
    match branch.router.thing:
        case External(path=path) if path.endswith("tools_condition") or path.startswith(READY_MADE):
            return when(Test(ASK, text="the model asks for a tool"))
        case ModelValue(label=label):
            return when(Test(frozenset({Taint(TaintKind.MODEL, "fields", label)}), text="the model chooses"))
        case _:
            return None


def _to_all(wiring: WiredGraph, branch: DeclaredBranch, condition: Formula) -> None:
    ends = branch.ends or {"tools": "tools", END: END}
    for target in dict.fromkeys(ends.values()):
        opens = negate(condition) if target == END else condition
        _step(wiring, branch, target, opens, "branch", asks=False)


def _route(
    wiring: WiredGraph,
    branch: DeclaredBranch,
    ends: Mapping[object, str] | None,
    value: Value,
    opens: Formula,
    *,
    asks: bool,
) -> None:
    """One thing that a router may return."""
    match value.thing:
        case Items(items=held, rest=rest):
            for item in (*held, *([rest] if rest is not None else [])):
                for inner, formula in options(item):
                    _route(wiring, branch, ends, inner, all_of([opens, formula]), asks=asks)
        case SendValue(target=target):
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


def _is_for_others(graph: DeclaredGraph, branch: DeclaredBranch, label: object) -> bool:
    """True if several branches share one router, and what it returns is a way of another of them."""
    router = _what_decides(branch.router)
    return router is not None and any(
        other is not branch and _what_decides(other.router) == router and label in (other.ends or ())
        for other in graph.branches
    )


def _what_decides(router: Value) -> object:
    """What two routers that are one have in common: a function, a method, one of these with arguments, or an object."""
    match router.thing:
        case FunctionValue(node=ast.Lambda() as node):
            return text_of(node)
        case FunctionValue(node=node):
            return node
        case Partial(function=function):
            return _what_decides(function)
        case Instance(of=cls):
            return cls.node
        case _:
            return None


def _to_label(
    wiring: WiredGraph,
    branch: DeclaredBranch,
    ends: Mapping[object, str] | None,
    label: object,
    opens: Formula,
    *,
    asks: bool,
) -> None:
    if ends is not None:
        if label in ends:
            _step(wiring, branch, ends[label], opens, "branch", asks=asks)
        elif branch.ends is not None and paths(opens):
            if not _is_for_others(wiring.graph, branch, label):
                known = ", ".join(repr(k) for k in ends)
                said = f"The router of {branch.source} can return {label!r}, which its map does not hold ({known})"
                wiring.findings.append(Finding("label-not-in-map", f"{said}: a KeyError.", branch.place))
        else:
            _step(wiring, branch, str(label), opens, "branch", asks=asks)
        return
    target = str(label)
    if target != END and target not in wiring.graph.nodes and branch.hidden_map:
        wiring.anywhere.setdefault(
            branch.source, (f"the map of the router of {branch.source} is not in sight", branch.place)
        )
        return
    if target != END and target not in wiring.graph.nodes and not paths(opens):
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
    wiring: WiredGraph,
    branch: DeclaredBranch,
    ends: Mapping[object, str] | None,
    value: Value,
    opens: Formula,
    *,
    asks: bool,
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


def _step(wiring: WiredGraph, branch: DeclaredBranch, target: str, opens: Formula, kind: str, *, asks: bool) -> None:
    ways = [EdgeWay(p) for p in paths(opens)]
    if ways:
        wiring.add(WiredEdge(branch.source, target, ways, kind, branch.place, asks_model=asks))


# Puts together all steps that a graph can take.


def _add_unseen(graph: DeclaredGraph) -> list[DeclaredNode]:
    """Nodes that edges name and whose own names are not in sight are there, and what they do can't be told."""
    unseen: list[DeclaredNode] = []
    named: dict[str, SourcePlace] = {}
    for edge in graph.edges:
        named.setdefault(edge.source, edge.place)
        named.setdefault(edge.target, edge.place)
    for branch in graph.branches:
        for name in (branch.source, *(branch.ends or {}).values()):
            named.setdefault(name, branch.place)
    some_unseen = any(n.startswith("{") for n in graph.nodes)
    for name, place in named.items():
        if name not in graph.nodes and name not in {START, END} and (name.startswith("{") or some_unseen):
            graph.nodes[name] = DeclaredNode(name, unknown(f"the node {name} is not in sight"), place)
            unseen.append(graph.nodes[name])
    return unseen


def _drop_impossible(wiring: WiredGraph) -> None:
    """Takes out ways that ask for a flag to be other than what the node before always sets it to."""
    for pair, edge in list(wiring.edges.items()):
        if edge.kind != "branch" or edge.source not in wiring.facts:
            continue
        writes = wiring.facts[edge.source].writes
        left = [w for w in edge.ways if w.before or not any(_is_impossible(wiring, writes, x) for x in w.literals)]
        if not left:
            del wiring.edges[pair]
        edge.ways = left


def _is_impossible(wiring: WiredGraph, writes: Mapping[str, Write], literal: Literal) -> bool:
    test, holds = literal
    if test.op or len(test.left) != 1 or test.right:
        return False
    (taint,) = test.left
    write = writes.get(taint.detail) if taint.kind is TaintKind.KEY else None
    if write is None or not write.always or write.constant is None or taint.detail in wiring.graph.appends:
        return False
    return bool(write.constant.value) != holds


def wire(reader: Reader, graph: DeclaredGraph) -> WiredGraph:
    """Reads nodes and routers, and puts the steps together."""
    unseen = _add_unseen(graph)
    facts = facts_of_graph(reader, graph)  # which may have been read before its nodes were put together
    facts.update({n.name: facts_of_node(reader, graph, n) for n in unseen if n.name not in facts})
    wiring = WiredGraph(graph, facts)
    for edge in graph.edges:
        if edge.source in wiring.facts and wiring.facts[edge.source].leaves:
            continue
        wiring.add(WiredEdge(edge.source, edge.target, [EdgeWay()], "edge", edge.place, edge.joins))
    for branch in graph.branches:
        add_routes(reader, wiring, branch)
    _drop_impossible(wiring)
    for node in graph.nodes.values():
        add_jumps(reader, wiring, node)
        if node.error_handler in graph.nodes:
            failed = Test(frozenset({Taint(TaintKind.FORM, what="exception")}), text=f"an exception of {node.name}")
            wiring.add(
                WiredEdge(
                    node.name, node.error_handler, [EdgeWay(p) for p in paths(when(failed))], "branch", node.place
                )
            )
    return wiring
