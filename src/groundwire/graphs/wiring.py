"""What can lead where in a graph: what the proof works on.

It is made from what was declared to the builder, never from a drawing of the graph: a drawing leaves out the edges it
does not know, and would pass exactly the graphs it should catch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["END", "EXIT", "MAY_HOLD_A_MODEL", "ROUTER", "START", "Edge", "Join", "Role", "Wiring"]

START = "__start__"
END = "__end__"
EXIT = "/__end__"
"""Ends the name of the place where a nested graph ends: `inner/__end__`."""
ROUTER = "router()"
"""Names the place of a router that may hold a model: `source/router()`."""


class Role(StrEnum):
    """What a node is allowed to do."""

    ACTOR = "actor"
    CRITIC = "critic"
    TOOL = "tool"
    PURE = "pure"
    """A plain function that is declared to call no model."""
    WORLD = "world"
    """A node of a plain LangGraph graph that is declared to touch the world each time it runs."""
    UNKNOWN = "unknown"
    """A plain function that may do anything: a cycle through it counts as one through a model."""


MAY_HOLD_A_MODEL = frozenset({Role.ACTOR, Role.CRITIC, Role.UNKNOWN})


@dataclass(frozen=True)
class Edge:
    """A possible step.

    Args:
        source: node name, or START.
        target: node name, or END.
        gate: `refine` or `advance` where only a sealed signal opens it; empty otherwise.
        choice: edges of one source with the same choice are alternatives: one of them is taken. Empty: it is taken
            whatever else is.
        many: True if one run of the source may take it more than once, as with `Send`.
    """

    source: str
    target: str
    gate: str = ""
    choice: str = ""
    many: bool = False

    def fires_with(self, other: Edge) -> bool:
        """True if one run of their source can take both."""
        if self == other:
            return self.many
        return not self.choice or self.choice != other.choice


@dataclass(frozen=True)
class Join:
    """An edge that is taken when all its sources have run.

    Args:
        sources: node names.
        target: a node name.
    """

    sources: frozenset[str]
    target: str

    def edges(self) -> Iterable[Edge]:
        """One edge a source."""
        return (Edge(source, self.target) for source in sorted(self.sources))


@dataclass(frozen=True)
class Wiring:
    """All nodes with their roles, and all steps that can be taken; nested graphs are spelt out.

    Args:
        roles: by node name; a node of a nested graph is called `outer/inner`.
        edges: the steps.
        joins: the steps that wait for several nodes.
    """

    roles: Mapping[str, Role]
    edges: Collection[Edge]
    joins: Collection[Join] = ()
