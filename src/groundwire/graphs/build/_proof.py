"""The static proof: nothing that may hold a model runs again and again without an outside signal.

With the gated edges taken away, no cycle through an actor, a critic or an undeclared function may be left, and none of
them may run beside a cycle on a parallel branch. That is enough: if a node runs without end, follow each run back to
the run that caused it; a tree in which every run causes finitely many others and which never ends has an endless path
(König), so the node is on a cycle of edges or hangs from one by an edge that is taken together with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from itertools import chain

from groundwire.core._errors import GraphError, UngroundedLoopError

# What can lead where in a graph: what the proof works on.
#
# It is made from what was declared to the builder, never from a drawing of the graph: a drawing leaves out the edges
# it does not know, and would pass exactly the graphs it should catch.

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
        fan_out: True if one run of the source may take it more than once, as with `Send`.
    """

    source: str
    target: str
    gate: str = ""
    choice: str = ""
    fan_out: bool = False

    def fires_with(self, other: Edge) -> bool:
        """True if one run of their source can take both."""
        if self == other:
            return self.fan_out
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


# The static proof: nothing that may hold a model can run again and again without an outside signal.


@dataclass(frozen=True)
class SideRun:
    """A node that runs each time a cycle goes round, without being on it.

    Args:
        cycle: node names, the first repeated at the end.
        path: from the node of the cycle that starts it to the node that may hold a model.
    """

    cycle: tuple[str, ...]
    path: tuple[str, ...]


class _Flow:
    """Steps that can be taken, with what they reach."""

    def __init__(self, edges: Iterable[Edge]) -> None:
        self.leaving: dict[str, list[Edge]] = {}
        for edge in edges:
            self.leaving.setdefault(edge.source, []).append(edge)
        self._reached: dict[str, frozenset[str]] = {}

    def after(self, start: str) -> frozenset[str]:
        """All that can run after `start` has."""
        if start not in self._reached:
            seen: set[str] = set()
            pending = [start]
            while pending:
                for edge in self.leaving.get(pending.pop(), ()):
                    if edge.target not in seen:
                        seen.add(edge.target)
                        pending.append(edge.target)
            self._reached[start] = frozenset(seen)
        return self._reached[start]

    def path(self, start: str, goal: str) -> tuple[str, ...]:
        """The shortest way of at least one step; there must be one."""
        came_from: dict[str, str] = {}
        pending = deque([start])
        while goal not in came_from:
            node = pending.popleft()
            for edge in self.leaving.get(node, ()):
                if edge.target not in came_from:
                    came_from[edge.target] = node
                    pending.append(edge.target)
        way = [goal, came_from[goal]]
        while way[-1] != start:
            way.append(came_from[way[-1]])
        return tuple(reversed(way))

    def is_on_cycle(self, edge: Edge) -> bool:
        """True if the edge can be taken again after it was taken."""
        return edge.source in self.after(edge.target)

    def starts_beside_cycles(self) -> Iterator[tuple[Edge, Edge]]:
        """(an edge on a cycle, an edge that is taken together with it)."""
        for edges in self.leaving.values():
            for round_ in filter(self.is_on_cycle, edges):
                yield from ((round_, beside) for beside in edges if round_.fires_with(beside))

    def endless(self) -> set[str]:
        """All that can run without end."""
        found = {node for node in self.leaving if node in self.after(node)}
        for _, beside in self.starts_beside_cycles():
            found |= {beside.target, *self.after(beside.target)}
        return found


def _ungated(wiring: Wiring, *, without: Collection[str] = ()) -> _Flow:
    """What can be taken without a signal. A join can't repeat unless all that it waits for can."""
    plain = [e for e in wiring.edges if not e.gate and not {e.source, e.target} & set(without)]
    joins = [j for j in wiring.joins if not {*j.sources, j.target} & set(without)]
    while True:
        flow = _Flow(chain(plain, *(j.edges() for j in joins)))
        endless = flow.endless()
        kept = [j for j in joins if j.sources <= endless]
        if len(kept) == len(joins):
            return flow
        joins = kept


def _suspects(wiring: Wiring) -> Iterator[tuple[_Flow, list[str]]]:
    """What may hold a model, with the steps that count for it.

    A node of a plain LangGraph graph that touches the world each time interrupts cycles of undeclared functions, which
    nobody let in; never those of an actor or critic, for which a sealed signal is the only way.
    """
    ours = [n for n, role in wiring.roles.items() if role in (Role.ACTOR, Role.CRITIC)]
    yield _ungated(wiring), ours
    world = [n for n, role in wiring.roles.items() if role is Role.WORLD]
    unknown = [n for n, role in wiring.roles.items() if role is Role.UNKNOWN]
    yield _ungated(wiring, without=world), unknown


def ungrounded_cycles(wiring: Wiring) -> list[tuple[str, ...]]:
    """The shortest ungated cycle through each node that may hold a model, each cycle once.

    Returns:
        Cycles as node names, the first repeated at the end, shortest first.
    """
    found: dict[frozenset[str], tuple[str, ...]] = {}
    for flow, suspects in _suspects(wiring):
        for node in suspects:
            if node in flow.after(node):
                cycle = flow.path(node, node)
                found.setdefault(frozenset(cycle), cycle)
    return sorted(found.values(), key=len)


def ungrounded_side_runs(wiring: Wiring) -> list[SideRun]:
    """Nodes that may hold a model and run on a parallel branch each time an ungated cycle goes round.

    Returns:
        The shortest for each such node, shortest first.
    """
    found: dict[str, SideRun] = {}
    for flow, suspects in _suspects(wiring):
        for round_, beside in flow.starts_beside_cycles():
            for node in suspects:
                if node == beside.target or node in flow.after(beside.target):
                    run = _side_run(flow, round_, beside, node)
                    found[node] = min(found.get(node, run), run, key=_length)
    return sorted(found.values(), key=_length)


def _length(run: SideRun) -> int:
    return len(run.cycle) + len(run.path)


def _side_run(flow: _Flow, round_: Edge, beside: Edge, node: str) -> SideRun:
    back = () if round_.target == round_.source else flow.path(round_.target, round_.source)[1:]
    way = () if beside.target == node else flow.path(beside.target, node)[1:]
    return SideRun((round_.source, round_.target, *back), (beside.source, beside.target, *way))


def prove(wiring: Wiring) -> None:
    """Checks the whole graph.

    Raises:
        UngroundedLoopError: an actor, critic or undeclared node can run again and again without an outside signal.
        GraphError: an edge names no node, a node can't be reached, or a node can't reach the end.
    """
    _check_names(wiring)
    cycles = ungrounded_cycles(wiring)
    if cycles:
        raise UngroundedLoopError(_without_exits(cycles[0]), do=_cure(cycles[0], wiring))
    side_runs = ungrounded_side_runs(wiring)
    if side_runs:
        first = side_runs[0]
        raise UngroundedLoopError(
            _without_exits(first.cycle), do=_cure(first.path, wiring), beside=_without_exits(first.path)
        )
    _check_entries(wiring)
    _check_ends(wiring)


def _check_names(wiring: Wiring) -> None:
    known = {*wiring.roles, START, END}
    for edge in chain(wiring.edges, *(j.edges() for j in wiring.joins)):
        for name in (edge.source, edge.target):
            if name not in known:
                raise GraphError(
                    f"The edge {edge.source} → {edge.target} names {name!r}, which is not a node.",
                    do=f"Nodes are: {', '.join(sorted(wiring.roles)) or 'none yet'}.{_meant(edge, name, wiring.roles)}",
                )


def _meant(edge: Edge, name: str, known: Iterable[str]) -> str:
    """The edge as it was meant, where the name is nearly that of a node."""
    near = get_close_matches(name, known, n=1)
    if not near or edge.gate or START in (edge.source, edge.target):
        return ""
    source, target = (near[0] if end == name else end for end in (edge.source, edge.target))
    return f'  Perhaps:  graph.add_edge("{source}", "{target}")'


def _check_entries(wiring: Wiring) -> None:
    """Every node can be reached; a join only if all that it waits for can."""
    reached = _reached(wiring)
    dead = wiring.roles.keys() - reached
    for join in wiring.joins:
        if join.target in dead and join.sources & reached:
            missing = ", ".join(sorted(join.sources - reached))
            raise GraphError(
                f"{join.target} waits for {missing}, which no path from the entry reaches.",
                do=f"Wire an edge to {missing}, or let {join.target} wait for the others only.",
            )
    # of a graph that nothing leads to, its inside is not news
    outermost = sorted(n for n in dead if not n.endswith(EXIT) and n.rpartition("/")[0] not in dead)
    if outermost:
        raise GraphError(
            f"No path from the entry reaches {', '.join(outermost)}.", do="Wire an edge to it, or remove the node."
        )


def _reached(wiring: Wiring) -> frozenset[str]:
    joins: list[Join] = []
    while True:
        reached = _Flow(chain(wiring.edges, *(j.edges() for j in joins))).after(START)
        can_fire = [j for j in wiring.joins if not j.sources - reached]
        if len(can_fire) == len(joins):
            return reached
        joins = can_fire


def _check_ends(wiring: Wiring) -> None:
    """Every node can come to the end; gates count, since a gate that refuses leads there."""
    edges = [*wiring.edges, *chain.from_iterable(j.edges() for j in wiring.joins)]
    backward = _Flow(Edge(e.target, e.source) for e in edges)
    stuck = wiring.roles.keys() - backward.after(END)
    if not stuck:
        return
    flow = _Flow(e for e in edges if e.source in stuck)
    for node in sorted(stuck):
        if node in flow.after(node):
            cycle = _without_exits(flow.path(node, node))
            raise GraphError(
                f"{' → '.join(cycle)} has no way out: it can never reach the end.",
                do=f'Give one of its nodes a way:  graph.add_conditional_edges("{node}", …, ["{cycle[1]}", END])',
            )
    names = ", ".join(sorted(n for n in stuck if not flow.after(n)))
    raise GraphError(f"{names} can never reach the end.", do="Wire an edge to END, or judge with a tool that stops.")


def _without_exits(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in path if not name.endswith(EXIT))


def _cure(path: tuple[str, ...], wiring: Wiring) -> str:
    def first(role: Role, names: Iterable[str]) -> str | None:
        return next((n for n in names if wiring.roles.get(n) is role), None)

    own_actor = first(Role.ACTOR, path)
    critic = first(Role.CRITIC, path)
    unknown = first(Role.UNKNOWN, path)
    if unknown and own_actor is None and critic is None:
        return _cure_of_unknown(unknown)
    actor = own_actor or first(Role.ACTOR, wiring.roles) or "write"
    # the one that judges what this actor makes, rather than a baseline's
    judges = {edge.target for edge in wiring.edges if edge.source == actor}
    names = sorted(wiring.roles, key=lambda name: name not in judges)
    tool = first(Role.TOOL, path) or first(Role.TOOL, names)
    via = f'via="{critic}", ' if critic else ""
    line = f'graph.refine("{tool or "test"}", {via}to="{actor}")'
    if tool is None:
        line = f'graph.add_tool("test", Pytest()); graph.add_edge("{actor}", "test"); {line}'
    return f"Gate one of its edges:  {line}"


def _cure_of_unknown(name: str) -> str:
    outer, _, inner = name.rpartition("/")
    if not outer:
        return f'If {name} calls no model, say so:  graph.add_node("{name}", …, role="pure")'
    if inner == ROUTER:
        return (
            f'If the router of {outer} calls no model, say so:  graph.add_conditional_edges("{outer}", …, role="pure")'
        )
    return (
        f"A plain LangGraph graph has no gate: build this loop as a FeedbackGraph; or, if {inner} calls no model,"
        f' say so:  roles={{"{inner}": "pure"}}'
    )
