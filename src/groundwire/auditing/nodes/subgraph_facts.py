"""What a graph that runs as a node asks and writes, seen from outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from groundwire.auditing.declared_graph import Graph, Node
from groundwire.auditing.nodes.facts import Facts
from groundwire.auditing.nodes.passing import surely_passed
from groundwire.auditing.nodes.updates import Write, united
from groundwire.auditing.taints import Kind, Taint, Taints

__all__ = ["of_subgraph"]


def of_subgraph(inner: Graph, facts: Mapping[str, Facts], node: Node) -> Facts:
    """Facts of the node, from those of the nodes inside."""
    sure = surely_passed(inner)
    effects = tuple(
        replace(e, guard=e.guard or ("" if n in sure else f"only through {n}"))
        for n, f in facts.items()
        for e in f.effects
    )
    asked = frozenset(e for n, f in facts.items() if n in sure for e in f.asked)
    writes = united([{k: _outside_view(w) for k, w in f.writes.items()} for f in facts.values()])
    for write in writes.values():
        write.always = False
    if inner.kind == "agent":
        writes = {
            "messages": Write(
                frozenset({Taint(Kind.MODEL, "text", node.name)}), frozenset({Taint(Kind.MODEL, "text", node.name)})
            )
        }
    jumps = [replace(j, to_parent=False) for f in facts.values() for j in f.jumps if j.to_parent]
    return Facts(effects, asked, writes, jumps, nested=(inner,))


def _outside_view(write: Write) -> Write:
    def without(taints: Taints) -> Taints:
        return frozenset(t for t in taints if t.kind not in {Kind.KEY, Kind.LAST, Kind.LENGTH, Kind.COMPARE})

    kept = without(write.taints) | _flattened(write.taints)
    return Write(kept, without(write.last) | _flattened(write.last), write.always)


def _flattened(taints: Taints) -> Taints:
    """Sources of the comparisons among these, without the keys of the state."""
    found: set[Taint] = set()
    for taint in taints:
        if taint.test is not None:
            inner = taint.test.taints
            found |= {t for t in inner if t.kind not in {Kind.KEY, Kind.LAST, Kind.LENGTH, Kind.COMPARE}} | _flattened(
                inner
            )
    return frozenset(found)
