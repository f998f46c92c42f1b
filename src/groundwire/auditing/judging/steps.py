"""Steps that a graph can take, and the ways in which each opens."""

from __future__ import annotations

from dataclasses import dataclass, field

from groundwire.auditing.conditions import Literal
from groundwire.auditing.declared_graph import Graph
from groundwire.auditing.nodes.facts import Facts
from groundwire.auditing.places import NOWHERE, Place
from groundwire.auditing.reading.frames import Effect
from groundwire.auditing.report import Finding

__all__ = ["Edge", "Way", "Wiring"]


@dataclass(frozen=True)
class Way:
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
class Edge:
    """A step that can be taken. `kind`: edge, branch, jump or send."""

    source: str
    target: str
    ways: list[Way] = field(default_factory=list[Way])
    kind: str = "edge"
    place: Place = NOWHERE
    joins: tuple[str, ...] = ()
    asks_model: bool = False
    """Its router asks a model itself."""


@dataclass
class Wiring:
    """A graph with all its steps.

    Args:
        graph: as declared.
        facts: of each node.
        edges: at most one for each pair of nodes.
        anywhere: nodes that may lead to any other, and why.
        router_effects: what the routers of a node ask.
    """

    graph: Graph
    facts: dict[str, Facts]
    edges: dict[tuple[str, str], Edge] = field(default_factory=dict[tuple[str, str], Edge])
    anywhere: dict[str, tuple[str, Place]] = field(default_factory=dict[str, tuple[str, Place]])
    router_effects: dict[str, tuple[Effect, ...]] = field(default_factory=dict[str, tuple[Effect, ...]])
    findings: list[Finding] = field(default_factory=list[Finding])
    to_parent: set[str] = field(default_factory=set[str])
    """Nodes from which a jump leaves the graph for the one around it."""

    def add(self, edge: Edge) -> None:
        """Adds a step; more ways where there is one already."""
        known = self.edges.get((edge.source, edge.target))
        if known is None:
            self.edges[edge.source, edge.target] = edge
        else:
            known.ways += edge.ways
            known.joins = known.joins or edge.joins
            known.asks_model |= edge.asks_model
            known.place = known.place if known.place != NOWHERE else edge.place
