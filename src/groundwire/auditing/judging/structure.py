"""Findings about the wiring itself: nodes that can't be reached, loops without an exit, edges to nowhere."""

from __future__ import annotations

from collections.abc import Iterable

from groundwire.auditing.declared_graph import END, START
from groundwire.auditing.judging.cycles import components
from groundwire.auditing.judging.steps import Wiring
from groundwire.auditing.report import Finding

__all__ = ["check_structure"]


def check_structure(wiring: Wiring) -> list[Finding]:
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
            if name not in reached
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
