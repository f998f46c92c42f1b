"""Where a node leads: its verdict, a stop and a hand-in have a say in it, as the state holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from langgraph.graph import END

from groundwire.graphs.gate import GateKind
from groundwire.graphs.parts import Parts
from groundwire.graphs.state import EpisodeState, Route
from groundwire.graphs.strides import Way

__all__ = ["Leading"]


class Leading:
    """The ways of one graph.

    Args:
        parts: what was declared.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def known(self) -> Mapping[str, Way]:
        """Where actors, critics and tools lead, unless routers or joins of the user's have a say in it."""
        parts = self._parts
        own = {router.source for router in parts.routers} | {source for sources, _ in parts.joins for source in sources}
        names = [name for name in (*parts.actors, *parts.critics, *parts.tools) if name not in own]
        return {name: way for name in names if (way := self.of(name)) is not None}

    def of(self, name: str) -> Way | None:
        """Where the state says that a node leads; None where only static edges do."""
        way, by = self._on(name), self._parts.hands_in().get(name)
        return partial(_or_hand_in, way, by) if way and by else way

    def _on(self, name: str) -> Way | None:
        parts = self._parts
        if name in parts.stopping():
            return _leave(parts.targets(name), parts.hand_in().get(name))
        if name in parts.tools and not parts.has_plain_edges(name):
            return partial(_route, self.out(name))
        targets = [*parts.targets(name), *(to for via, to in parts.gates.values() if via == name)]
        if name in parts.critics and len(set(targets)) == 1:
            return lambda _state: targets[0]
        return None

    def targets(self, name: str) -> list[str]:
        """All that `of` may say of a node."""
        parts = self._parts
        last, hands_in = parts.hand_in().get(name), parts.hands_in().get(name)
        if name in parts.tools:
            ways = [*self.out(name).values()]
        elif name in parts.critics:
            ways = [to for via, to in parts.gates.values() if via == name]
        else:
            ways = [*parts.targets(name), *([last] if last else []), END]
        return [*ways, *([hands_in] if hands_in else [])]

    def out(self, tool: str) -> Mapping[Route, str]:
        """Where the routes lead that a tool's verdict may open."""
        parts = self._parts
        ways: dict[Route, str] = {Route.STOP: END}
        for kind, route in ((GateKind.REFINE, Route.REFINE), (GateKind.ADVANCE, Route.ADVANCE)):
            if (tool, kind) in parts.gates:
                via, to = parts.gates[tool, kind]
                ways[route] = via or to
        if tool in parts.confirms:
            ways[Route.CONFIRM] = parts.confirms[tool]
        if tool in parts.refers:
            ways[Route.REFER] = parts.refers[tool]
        return ways


def _route(ways: Mapping[Route, str], state: EpisodeState) -> str:
    return ways[state.route]


def _or_hand_in(way: Way, by: str, state: EpisodeState) -> str | Sequence[str]:
    return by if state.route == Route.HAND_IN else way(state)


def _leave(targets: Sequence[str], by: str | None) -> Way:
    def leave(state: EpisodeState) -> str | Sequence[str]:
        if by and state.route == Route.CONFIRM:
            return by
        if state.route == Route.STOP or not targets:
            return END
        return targets[0] if len(targets) == 1 else targets

    return leave
