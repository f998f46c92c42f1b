"""Puts together all steps that a graph can take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.auditing.conditions import Test, paths, when
from groundwire.auditing.declared_graph import Graph
from groundwire.auditing.judging.jumps import add_jumps
from groundwire.auditing.judging.routes import add_routes
from groundwire.auditing.judging.steps import Edge, Way, Wiring
from groundwire.auditing.nodes.collect import facts_of_graph
from groundwire.auditing.taints import Kind, Taint

if TYPE_CHECKING:
    from groundwire.auditing.reading.reader import Reader

__all__ = ["wire"]


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
