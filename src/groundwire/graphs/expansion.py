"""From what was declared to what the proof works on."""

from __future__ import annotations

from groundwire.graphs.app import FeedbackApp
from groundwire.graphs.foreign import Pieces, expand, expand_helpers
from groundwire.graphs.parts import Parts, parts_of
from groundwire.graphs.wiring import END, EXIT, ROUTER, START, Edge, Join, Role, Wiring

__all__ = ["wiring_of"]

EXITS = "exits"
"""A tool node leads one way at a time."""


def wiring_of(parts: Parts) -> Wiring:
    """Roles and steps; nested graphs, and graphs that nodes call, are spelt out.

    Raises:
        GraphError: a nested graph does something that can't be seen and was not declared.
    """
    pieces = _Expansion(parts).pieces()
    pieces.edges.insert(0, Edge(START, parts.entry_name()))
    return pieces.wiring()


class _Expansion:
    """One feedback graph, its names behind a prefix where it is nested."""

    def __init__(self, parts: Parts, prefix: str = "", end: str = END) -> None:
        self._parts = parts
        self._prefix = prefix
        self._end = end

    def pieces(self) -> Pieces:
        pieces = self._nodes()
        parts = self._parts
        pieces.edges += [Edge(self._leaving(a), self._entering(b)) for a, b in parts.edges]
        pieces.joins += [Join(frozenset(map(self._leaving, a)), self._entering(b)) for a, b in parts.joins]
        self._routers(pieces)
        self._stops(pieces)
        return pieces

    def _entering(self, name: str) -> str:
        return self._end if name == END else f"{self._prefix}{name}"

    def _leaving(self, name: str) -> str:
        return f"{self._prefix}{name}{EXIT}" if name in self._parts.graphs else f"{self._prefix}{name}"

    def _nodes(self) -> Pieces:
        parts, pieces = self._parts, Pieces()
        holders = [
            *((name, Role.ACTOR, p.actor, p.helpers) for name, p in parts.actors.items()),
            *((name, Role.CRITIC, p.critic, p.helpers) for name, p in parts.critics.items()),
            *((name, Role.TOOL, p.tool, p.helpers) for name, p in parts.tools.items()),
            *((name, p.role, p.function, p.helpers) for name, p in parts.plain.items()),
        ]
        for name, role, holder, helpers in holders:
            place = self._entering(name)
            pieces.roles[place] = role
            # a feedback graph that is called was proved when it was compiled
            pieces.add(expand_helpers(place, holder, helpers, stop_at=(FeedbackApp,)))
        for name, part in parts.plain.items():
            pieces.edges += self._jumps(name, part.destinations, many=part.many)
        for name in parts.graphs:
            pieces.add(self._graph(name))
        return pieces

    def _jumps(self, name: str, destinations: tuple[str, ...], *, many: bool) -> list[Edge]:
        choice = "" if many else "jump"
        return [Edge(self._entering(name), self._entering(d), choice=choice, many=many) for d in destinations]

    def _graph(self, name: str) -> Pieces:
        part, place = self._parts.graphs[name], self._entering(name)
        outer = tuple(map(self._entering, part.destinations))
        inner = parts_of(part.graph)
        if inner is None:
            return expand(place, part.graph, roles=part.roles, destinations=outer, many=part.many)
        pieces = _Expansion(inner, f"{place}/", f"{place}{EXIT}").pieces()
        leaving = [f"{place}/{plain}" for plain in inner.plain]
        pieces.edges += [Edge(node, target, many=part.many) for node in leaving for target in outer]
        pieces.edges.append(Edge(place, f"{place}/{inner.entry_name()}"))
        pieces.roles |= {place: Role.PURE, f"{place}{EXIT}": Role.PURE}
        return pieces

    def _routers(self, pieces: Pieces) -> None:
        """A router that may hold a model is a place of its own, which a cycle through it passes."""
        for number, part in enumerate(self._parts.routers):
            source = self._leaving(part.source)
            if part.role is not Role.PURE:
                place = f"{source}/{ROUTER}"
                pieces.roles[place] = part.role
                pieces.edges.append(Edge(source, place))
                source = place
            choice = "" if part.many else f"{ROUTER} {number}"
            for target in part.path_map.values():
                pieces.edges.append(Edge(source, self._entering(target), choice=choice, many=part.many))

    def _stops(self, pieces: Pieces) -> None:
        parts = self._parts
        # one that stops leads to the end, whatever else was wired
        pieces.edges += [Edge(self._leaving(name), self._end) for name in (*parts.actors, *parts.graphs)]
        for (tool, kind), (via, to) in parts.gates.items():
            pieces.edges.append(Edge(self._entering(tool), self._entering(via or to), gate=kind.value, choice=EXITS))
            if via:
                pieces.edges.append(Edge(self._entering(via), self._entering(to)))
        pieces.edges += [Edge(self._entering(actor), self._entering(by)) for actor, by in parts.hand_in().items()]
        for name, by in parts.hands_in().items():
            choice = EXITS if name in parts.tools else ""
            pieces.edges.append(Edge(self._entering(name), self._entering(by), choice=choice))
        for tool, by in (*parts.confirms.items(), *parts.refers.items()):
            pieces.edges.append(Edge(self._entering(tool), self._entering(by), choice=EXITS))
        for tool in parts.tools:
            if not parts.has_plain_edges(tool):
                pieces.edges.append(Edge(self._entering(tool), self._end, choice=EXITS))
