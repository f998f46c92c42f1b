"""From what was declared, plain LangGraph graphs included, to what the proof works on.

Read from the builder: `get_graph()` draws only what it can reach and leaves out what it does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal, get_origin, get_type_hints

from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel

from groundwire.core._errors import GraphError
from groundwire.graphs.build._bounds import annotated_jumps, mentions_jump
from groundwire.graphs.build._declarations import Helpers, Parts, parts_of
from groundwire.graphs.build._proof import END, EXIT, ROUTER, START, Edge, Join, Role, Wiring
from groundwire.graphs.build._reachable import look
from groundwire.graphs.run._app import FeedbackApp

# Plain LangGraph graphs inside a feedback graph: what they can do, spelt out for the proof.

DECLARABLE = frozenset({Role.PURE, Role.WORLD, Role.UNKNOWN})


@dataclass
class Pieces:
    """A wiring that is being put together."""

    roles: dict[str, Role] = field(default_factory=dict[str, Role])
    edges: list[Edge] = field(default_factory=list[Edge])
    joins: list[Join] = field(default_factory=list[Join])

    def add(self, other: Pieces) -> None:
        """Takes over what another one holds."""
        self.roles |= other.roles
        self.edges += other.edges
        self.joins += other.joins

    def wiring(self) -> Wiring:
        """What the proof works on; an edge that was named twice counts once."""
        return Wiring(self.roles, list(dict.fromkeys(self.edges)), self.joins)


def builder_of(graph: object) -> Any:
    """The `StateGraph` behind a graph; None where there is none (an entrypoint, a remote graph, a function)."""
    if isinstance(graph, CompiledStateGraph):
        return graph.builder  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return graph if isinstance(graph, StateGraph) else None  # pyright: ignore[reportUnknownVariableType]


def held_graphs(holder: object, *, stop_at: tuple[type, ...] = ()) -> list[Any]:
    """LangGraph graphs that a node's code names or holds; what `stop_at` names proves itself."""
    sight = look(holder, stop_at=(Pregel, StateGraph, *stop_at))
    return [value for value in sight.values if value is not holder and builder_of(value) is not None]


def expand_helpers(name: str, holder: object, helpers: Helpers, *, stop_at: tuple[type, ...] = ()) -> Pieces:
    """The graphs that a node calls, declared or seen, each as `name/graph`; a call comes back, so none leads on."""
    pieces = Pieces()
    graphs = dict(helpers.graphs)
    declared = {id(builder_of(g)) for g in graphs.values()}
    for graph in held_graphs(holder, stop_at=stop_at):
        if id(builder_of(graph)) not in declared:
            declared.add(id(builder_of(graph)))
            graphs[_free_label(getattr(graph, "name", "graph"), graphs)] = graph
    for label, graph in graphs.items():
        if builder_of(graph) is None:
            continue  # it proves itself, or is a function of its own
        roles = {k.removeprefix(f"{label}/"): v for k, v in helpers.roles.items() if k.startswith(f"{label}/")}
        place = f"{name}/{label}"
        pieces.add(expand(place, graph, roles=roles))
        pieces.edges += [Edge(name, place), Edge(f"{place}{EXIT}", END)]
    return pieces


def _free_label(label: str, taken: Iterable[str]) -> str:
    candidates = chain([label], (f"{label}-{n}" for n in range(2, 10_000)))
    return next(c for c in candidates if c not in set(taken))


def expand(
    name: str, graph: object, *, roles: Mapping[str, str], destinations: Sequence[str] = (), many: bool = True
) -> Pieces:
    """A graph's nodes and steps under `name`: it begins at `name` and ends at `name/__end__`.

    Args:
        name: of the node that the graph is.
        graph: a `StateGraph`, compiled or not.
        roles: of its nodes; the role of a node holds for the routers that leave it too.
        destinations: nodes of the outer graph to which its nodes may jump, named as the outer wiring names them.
        many: True if such a jump may lead to several at once.

    Raises:
        GraphError: it does something that can't be seen and was not declared.
    """
    builder = builder_of(graph)
    inside = _Inside(name, builder, roles)
    inside.check_roles()
    pieces = Pieces(roles={name: inside.role_of_entry(), f"{name}{EXIT}": Role.PURE})
    pieces.edges += inside.static_edges()
    pieces.edges += inside.router_edges()
    pieces.joins += [
        Join(frozenset(inside.leaving(s) for s in sources), inside.entering(target))
        for sources, target in builder.waiting_edges
    ]
    for node, spec in builder.nodes.items():
        pieces.add(inside.node(node, spec, may_leave=bool(destinations)))
    leaving = [inside.entering(n) for n, spec in builder.nodes.items() if builder_of(spec.runnable) is None]
    pieces.edges += [Edge(node, target, many=many) for node in leaving for target in destinations]
    return pieces


@dataclass
class _Inside:
    """One graph, read from its builder."""

    name: str
    builder: Any
    roles: Mapping[str, str]

    def entering(self, node: str) -> str:
        return self.name if node == START else f"{self.name}{EXIT}" if node == END else f"{self.name}/{node}"

    def leaving(self, node: str) -> str:
        is_graph = node in self.builder.nodes and builder_of(self.builder.nodes[node].runnable) is not None
        return f"{self.entering(node)}{EXIT}" if is_graph else self.entering(node)

    def check_roles(self) -> None:
        for name, role in self.roles.items():
            known = name == START or name.split("/")[0] in self.builder.nodes
            if not known or role not in DECLARABLE:
                raise GraphError(
                    f"The role {role!r} of {name} in {self.name} can't be declared.",
                    do=f"Nodes: {', '.join(self.builder.nodes)}; roles: {', '.join(sorted(DECLARABLE))}.",
                )

    def role_of_entry(self) -> Role:
        routed = START in self.builder.branches
        return Role(self.roles.get(START, Role.UNKNOWN)) if routed else Role.PURE

    def static_edges(self) -> Iterator[Edge]:
        for source, target in self.builder.edges:
            yield Edge(self.leaving(source), self.entering(target))

    def router_edges(self) -> Iterator[Edge]:
        for source, branches in self.builder.branches.items():
            for label, branch in branches.items():
                place = self.entering(source)
                if branch.ends is None:
                    raise GraphError(
                        f"The router {label} of {place} may lead anywhere: LangGraph is not told its targets.",
                        do=f'Give it a map:  builder.add_conditional_edges("{source}", {label}, ["…"])',
                    )
                one = chooses_one(branch)
                for target in branch.ends.values():
                    choice = label if one else ""
                    yield Edge(self.leaving(source), self.entering(target), choice=choice, many=not one)

    def node(self, node: str, spec: Any, *, may_leave: bool) -> Pieces:
        place, ends = self.entering(node), jumps_of(spec)
        if builder_of(spec.runnable) is not None:
            below = {k.removeprefix(f"{node}/"): v for k, v in self.roles.items() if k.startswith(f"{node}/")}
            outer = [self.entering(target) for target in ends]
            pieces = expand(place, spec.runnable, roles=below, destinations=outer)
        else:
            self._check_jumps(place, node, spec.runnable, declared=bool(ends), may_leave=may_leave)
            pieces = Pieces({place: Role(self.roles.get(node, Role.UNKNOWN))})
            pieces.edges += [Edge(place, self.entering(target), many=True) for target in ends]
            pieces.add(expand_helpers(place, spec.runnable, Helpers()))
        if spec.error_handler_node:
            pieces.edges.append(Edge(place, self.entering(spec.error_handler_node)))
        if not self._leads_on(node):
            pieces.edges.append(Edge(self.leaving(node), f"{self.name}{EXIT}"))
        return pieces

    def _check_jumps(self, place: str, node: str, runnable: Any, *, declared: bool, may_leave: bool) -> None:
        if declared:
            return
        sight = look(runnable, stop_at=(Pregel, StateGraph))
        if "PARENT" in sight.unresolved and may_leave:
            return  # where it leads was declared outside
        if mentions_jump(runnable):
            raise GraphError(
                f"{place} may return Command or Send to undeclared nodes.",
                do=f'Declare them:  builder.add_node("{node}", …, destinations=("…",))',
            )

    def _leads_on(self, node: str) -> bool:
        """False where the run ends after the node, unless it jumps."""
        builder = self.builder
        return (
            node in builder.branches
            or any(source == node for source, _ in builder.edges)
            or any(node in sources for sources, _ in builder.waiting_edges)
        )


def jumps_of(spec: Any) -> tuple[str, ...]:
    """Where a node says that it may jump; LangGraph itself does not read an error handler's annotation."""
    declared = tuple(spec.ends or ())
    function = getattr(spec.runnable, "func", None) or getattr(spec.runnable, "afunc", None)
    return declared or annotated_jumps(function)


def chooses_one(branch: Any) -> bool:
    """True if the router is annotated to return one label, which it is then held to."""
    function = getattr(branch.path, "func", None) or getattr(branch.path, "afunc", None)
    try:
        returned = get_type_hints(function).get("return") if function is not None else None
    except (NameError, TypeError):
        return False
    return returned is str or get_origin(returned) is Literal


# From what was declared to what the proof works on.

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
