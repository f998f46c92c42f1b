"""Audits graphs that were read, whatever they were read from: their loops, and the wiring itself."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from groundwire_audit._report import Finding, GraphReport, Grounding, Loop, Mode, failed
from groundwire_audit.judging._loops import components, loops_in_source, loops_of
from groundwire_audit.judging._wiring import WiredGraph, wire
from groundwire_audit.reading._frames import Frame, text_of
from groundwire_audit.reading._graph import END, START, DeclaredGraph, DeclaredNode
from groundwire_audit.reading._nodes import follow_action, state_of
from groundwire_audit.reading._reader import TooComplex
from groundwire_audit.reading._source_reader import SourceReader

# Findings about the wiring itself: nodes that can't be reached, loops without an exit, edges to nowhere.


def check_structure(reader: SourceReader, wiring: WiredGraph) -> list[Finding]:
    """Dead nodes, loops with no exit, edges that name no node. Of a graph that isn't wired at all, nothing."""
    graph = wiring.graph
    found = list(wiring.findings)
    known = {*graph.nodes, START, END}
    for (source, target), edge in wiring.edges.items():
        for name in (source, target):
            if name not in known and not name.startswith("{"):
                message = f"The edge {source} → {target} names {name!r}, which is no node."
                found.append(Finding("unknown-node", message, edge.place))
    symbolic = any(n.startswith("{") for n in (*graph.nodes, *(x for pair in wiring.edges for x in pair)))
    if symbolic or wiring.anywhere or not graph.nodes:
        return _once(found)
    forward: dict[str, set[str]] = {}
    for source, target in wiring.edges:
        forward.setdefault(source, set()).add(target)
    if START in forward:
        reached = _reached([START], forward)
        found += [
            Finding("dead-node", f"No path from the start reaches {name}.", node.place)
            for name, node in graph.nodes.items()
            if name not in reached and not _perhaps_wired(reader, node)
        ]
    for component in components(graph.nodes, forward):
        leaves = any(t not in component for s in component for t in forward.get(s, ()))
        parent = component & wiring.to_parent
        human = component & graph.gates
        if not leaves and not parent and not human:
            name = next(n for n in graph.nodes if n in component)
            shown = ", ".join(n for n in graph.nodes if n in component)
            found.append(Finding("no-exit", f"Nothing leads out of the loop over {shown}.", graph.nodes[name].place))
    return _once(found)


def _perhaps_wired(reader: SourceReader, node: DeclaredNode) -> bool:
    """An edge to the node stands under a condition beside it: a flag that another caller may set leads there."""
    module = next((m for m in reader.finder.modules.values() if m.code.shown == node.place.file), None)
    if module is None:
        return False
    line = module.code.line_of(node.place)
    around = [f for f in ast.walk(module.code.tree) if isinstance(f, FUNCTIONS) and _covers(f, line)]
    body = max(around, key=lambda f: f.lineno, default=module.code.tree)
    added = [c for c in ast.walk(body) if isinstance(c, ast.Call) and c.lineno == line and c.args]
    names = {repr(node.name), *(text_of(c.args[0]) for c in added)}
    under = [c for b in ast.walk(body) if isinstance(b, ast.If | ast.Match) for c in ast.walk(b)]
    return any(isinstance(c, ast.Call) and any(text_of(t) in names for t in _targets(c)) for c in under)


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _covers(function: ast.FunctionDef | ast.AsyncFunctionDef, line: int) -> bool:
    return function.lineno <= line <= (function.end_lineno or function.lineno)


def _targets(call: ast.Call) -> list[ast.AST]:
    """What a call that wires something names as where it leads."""
    match call.func:
        case ast.Attribute(attr="add_edge" | "add_conditional_edges"):
            held = [*call.args[1:], *(k.value for k in call.keywords)]
        case ast.Attribute(attr="set_entry_point"):
            held = call.args
        case _:
            held = []
    return [part for one in held for part in ast.walk(one)]


def _reached(starts: Iterable[str], steps: dict[str, set[str]]) -> set[str]:
    seen = set(starts)
    pending = list(seen)
    while pending:
        for target in steps.get(pending.pop(), ()):
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return seen


def _once(findings: Iterable[Finding]) -> list[Finding]:
    return list(dict.fromkeys(findings))


# Audits graphs that were read, whatever they were read from.

SEVERITY = list(Grounding)
MAX_NESTING = 5


def audit_graphs(reader: SourceReader, graphs: Sequence[DeclaredGraph], mode: Mode) -> list[GraphReport]:
    """Reports on each graph that is not inside another one of them."""
    reports: list[tuple[DeclaredGraph, GraphReport]] = []
    for graph in graphs:
        reader.refill()
        try:
            reports.append((graph, _report(reader, graph, mode)))
        except (RecursionError, TooComplex):
            finding = Finding("too-complex", f"{_name(graph)} is too large to follow.", graph.place)
            reports.append((graph, _unseen(graph, mode, finding)))
        except Exception as error:  # strangers write what nobody foresaw
            reports.append((graph, _unseen(graph, mode, failed(_name(graph), error, graph.place))))
    return [r for g, r in reports if not g.nested]


def _unseen(graph: DeclaredGraph, mode: Mode, finding: Finding) -> GraphReport:
    return GraphReport(_name(graph), mode, graph.place, tuple(graph.nodes), findings=(finding,))


def _name(graph: DeclaredGraph) -> str:
    return graph.name or (sorted(graph.aliases)[0] if graph.aliases else "graph")


def _report(reader: SourceReader, graph: DeclaredGraph, mode: Mode) -> GraphReport:
    if graph.kind == "source":
        loops = loops_in_source(WiredGraph(graph, {}), graph.name, graph.loops)
        return GraphReport(_name(graph), mode, graph.place, (), (), tuple(_sorted(loops)), ())
    if graph.kind == "functional":
        loops, findings = _functional(reader, graph), list(graph.findings)
        return GraphReport(_name(graph), mode, graph.place, (), (), tuple(_sorted(loops)), tuple(findings))
    wiring = wire(reader, graph)
    loops = _all_loops(reader, wiring, "", 0)
    findings = [*graph.findings, *check_structure(reader, wiring)]
    return GraphReport(
        _name(graph),
        mode,
        graph.place,
        tuple(graph.nodes),
        _edges(wiring, loops),
        tuple(_sorted(loops)),
        tuple(findings),
        graph.compiled_at,
    )


def _sorted(loops: Sequence[Loop]) -> list[Loop]:
    return sorted(loops, key=lambda x: (SEVERITY.index(x.verdict), x.nodes))


def _all_loops(reader: SourceReader, wiring: WiredGraph, prefix: str, depth: int) -> list[Loop]:
    found = loops_of(wiring, prefix)
    for name, facts in wiring.facts.items():
        if not facts.declared:
            found += loops_in_source(wiring, name, facts.loops, prefix)
        for inner in facts.nested if depth < MAX_NESTING else ():
            inner.nested = True
            found += _nested(reader, inner, f"{prefix}{name}/", depth + 1)
    return found


def _nested(reader: SourceReader, inner: DeclaredGraph, prefix: str, depth: int) -> list[Loop]:
    if inner.kind == "functional":
        return _functional(reader, inner, prefix)
    return _all_loops(reader, wire(reader, inner), prefix, depth)


def _functional(reader: SourceReader, graph: DeclaredGraph, prefix: str = "") -> list[Loop]:
    if graph.body is None:
        return []
    frame, _ = follow_action(reader, graph.body, state_of(reader, graph), graph.name)
    wiring = WiredGraph(graph, {})
    found = loops_in_source(wiring, graph.name, frame.loops, prefix)
    for inner in _distinct(frame):
        if inner is not graph:
            inner.nested = True
            found += _nested(reader, inner, f"{prefix}{graph.name}/", 1)
    return found


def _distinct(frame: Frame) -> list[DeclaredGraph]:
    return list(dict.fromkeys(frame.nested))


def _edges(wiring: WiredGraph, loops: Sequence[Loop]) -> tuple[tuple[str, str, str], ...]:
    worst: dict[tuple[str, str], Grounding] = {}
    for loop in loops:
        if loop.inside:
            continue
        for pair in zip(loop.nodes, (*loop.nodes[1:], loop.nodes[0]), strict=True):
            known = worst.get(pair)
            if known is None or SEVERITY.index(loop.verdict) < SEVERITY.index(known):
                worst[pair] = loop.verdict
    shown = [(s, t, str(worst.get((s, t), ""))) for s, t in wiring.edges]
    unknown = [(n, "?", str(Grounding.UNKNOWN)) for n in wiring.anywhere]
    ends = {START, END}
    return tuple(sorted(shown, key=lambda e: (e[0] not in ends, e)) + unknown)
