"""The static proof: no cycle through an actor or critic may be left once the gated edges are removed.

The proof works on what was declared to the builder, never on a drawing of the graph: a drawing leaves out the edges it
does not know, and would pass exactly the graphs it should catch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from groundwire.errors import GraphError, UngroundedLoopError

__all__ = ["END", "START", "Edge", "Role", "Wiring", "prove", "ungrounded_cycles"]

START = "__start__"
END = "__end__"


class Role(StrEnum):
    """What a node is allowed to do."""

    ACTOR = "actor"
    CRITIC = "critic"
    TOOL = "tool"
    PURE = "pure"
    """A plain function that is declared to call no model."""
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
    """

    source: str
    target: str
    gate: str = ""


@dataclass(frozen=True)
class Wiring:
    """All nodes with their roles, and all edges that can be taken."""

    roles: Mapping[str, Role]
    edges: Collection[Edge]

    def targets(self, source: str, *, gated: bool = True) -> Iterable[str]:
        """Where `source` can lead; with `gated=False` only without a signal."""
        return (e.target for e in self.edges if e.source == source and (gated or not e.gate))


def ungrounded_cycles(wiring: Wiring) -> list[tuple[str, ...]]:
    """The shortest ungated cycle through each node that may hold a model, each cycle once.

    Returns:
        Cycles as node names, the first repeated at the end, shortest first.
    """
    found: dict[frozenset[str], tuple[str, ...]] = {}
    for node, role in wiring.roles.items():
        if role in MAY_HOLD_A_MODEL:
            cycle = _shortest_cycle(wiring, node)
            if cycle:
                found.setdefault(frozenset(cycle), cycle)
    return sorted(found.values(), key=len)


def _shortest_cycle(wiring: Wiring, start: str) -> tuple[str, ...] | None:
    came_from: dict[str, str] = {}
    pending = deque([start])
    while pending:
        node = pending.popleft()
        for target in wiring.targets(node, gated=False):
            if target == start:
                path = [start]
                while node != start:
                    path.append(node)
                    node = came_from[node]
                return (start, *reversed(path))
            if target not in came_from and target != END:
                came_from[target] = node
                pending.append(target)
    return None


def _reachable(starts: Iterable[str], step: Mapping[str, Collection[str]]) -> set[str]:
    seen = set(starts)
    pending = list(seen)
    while pending:
        for target in step.get(pending.pop(), ()):
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return seen


def prove(wiring: Wiring) -> None:
    """Checks the whole graph.

    Raises:
        UngroundedLoopError: a cycle through an actor, critic or undeclared node needs no outside signal.
        GraphError: an edge names no node, a node can't be reached, or a node can't reach the end.
    """
    known = {*wiring.roles, START, END}
    for edge in wiring.edges:
        for name in (edge.source, edge.target):
            if name not in known:
                raise GraphError(
                    f"The edge {edge.source} → {edge.target} names {name!r}, which is not a node.",
                    do=f"Nodes are: {', '.join(sorted(wiring.roles)) or 'none yet'}.",
                )
    cycles = ungrounded_cycles(wiring)
    if cycles:
        raise UngroundedLoopError(cycles[0], do=_cure(cycles[0], wiring))
    forward: dict[str, set[str]] = {}
    backward: dict[str, set[str]] = {}
    for edge in wiring.edges:
        forward.setdefault(edge.source, set()).add(edge.target)
        backward.setdefault(edge.target, set()).add(edge.source)
    dead = sorted(wiring.roles.keys() - _reachable([START], forward))
    if dead:
        raise GraphError(
            f"No path from the entry reaches {', '.join(dead)}.", do="Wire an edge to it, or remove the node."
        )
    endless = sorted(wiring.roles.keys() - _reachable([END], backward))
    if endless:
        raise GraphError(
            f"{', '.join(endless)} can never reach the end.", do="Wire an edge to END, or judge with a tool that stops."
        )


def _cure(cycle: tuple[str, ...], wiring: Wiring) -> str:
    def first(role: Role, names: Iterable[str]) -> str | None:
        return next((n for n in names if wiring.roles.get(n) is role), None)

    actor = first(Role.ACTOR, cycle) or first(Role.ACTOR, wiring.roles)
    critic = first(Role.CRITIC, cycle)
    tool = first(Role.TOOL, cycle) or first(Role.TOOL, wiring.roles)
    unknown = first(Role.UNKNOWN, cycle)
    if actor is None or (unknown and first(Role.ACTOR, cycle) is None and critic is None):
        return f'If {unknown} calls no model, say so:  graph.add_node("{unknown}", …, role="pure")'
    via = f'via="{critic}", ' if critic else ""
    line = f'graph.refine("{tool or "test"}", {via}to="{actor}")'
    if tool is None:
        line = f'graph.add_tool("test", Pytest()); graph.add_edge("{actor}", "test"); {line}'
    return f"Gate one of its edges:  {line}"
