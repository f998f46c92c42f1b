"""The wiring of a graph with everything in it gives the verdict that following its declaration by hand gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, TypedDict

from guessing import Check, Guesser, Noter
from hypothesis import given
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph

from groundwire import FeedbackGraph
from groundwire.graphs.build._proof import ungrounded_cycles, ungrounded_side_runs

NAMES = ["a", "b", "c"]


@dataclass
class Part:
    """One node as it is declared."""

    kind: str
    static: list[str] = field(default_factory=list[str])
    router: tuple[list[str], bool, bool] | None = None
    """(targets, several at once, calls no model)"""
    jumps: tuple[list[str], bool] = field(default_factory=lambda: (list[str](), False))
    gate: str | None = None
    inner: Spec | None = None


@dataclass
class Spec:
    """A graph as it is declared; the first node is its entry."""

    ours: bool
    parts: dict[str, Part]


@st.composite
def specs(draw: st.DrawFn, *, ours: bool = True, depth: int = 1, outer: tuple[str, ...] = ()) -> Spec:
    names = NAMES[: draw(st.integers(1, 3 if depth else 2))]
    targets = st.lists(st.sampled_from([*names, END]), max_size=2, unique=True)
    kinds = ["actor", "critic", "tool", "pure", "unknown"] if ours else ["pure", "unknown", "world"]
    parts: dict[str, Part] = {}
    for name in names:
        kind: str = draw(st.sampled_from([*kinds, *(["graph", "langgraph"] if depth else [])]))
        part = Part(kind, static=draw(targets))
        if kind == "tool" and draw(st.booleans()):
            part = Part(kind, gate=draw(st.sampled_from(names)))
        if kind in ("pure", "unknown", "graph", "langgraph") and draw(st.booleans()):
            part.jumps = (draw(targets), draw(st.booleans()))
        if part.gate is None and draw(st.integers(0, 3)) == 0:
            chosen = draw(st.lists(st.sampled_from([*names, END]), min_size=1, max_size=2, unique=True))
            part.router = (chosen, draw(st.booleans()), draw(st.booleans()))
        if kind in ("graph", "langgraph"):
            part.inner = draw(specs(ours=kind == "graph", depth=depth - 1))
        parts[name] = part
    return Spec(ours, parts)


# --- the declaration, made -------------------------------------------------------------------------------------------


class Notes(TypedDict):
    text: str


def nothing(state: Any) -> dict[str, Any]:
    return {}


def picks_one(state: Any) -> str:
    return END


def picks_any(state: Any) -> list[str]:
    return []


def feedback_graph(spec: Spec) -> FeedbackGraph:
    graph = FeedbackGraph()
    graph.set_entry(next(iter(spec.parts)))
    for name, part in spec.parts.items():
        jumps, many = part.jumps
        match part.kind:
            case "actor":
                graph.add_actor(name, Guesser([]))
            case "critic":
                graph.add_critic(name, Noter())
            case "tool":
                graph.add_tool(name, Check())
            case "pure" | "unknown":
                graph.add_node(name, nothing, role=part.kind, destinations=jumps, many=many)
            case _:
                assert part.inner is not None
                inner = feedback_graph(part.inner) if part.inner.ours else lang_graph(part.inner)
                roles = {} if part.inner.ours else roles_of(part.inner)
                graph.add_node(name, inner, destinations=jumps, many=many, roles=roles)
        for target in part.static:
            graph.add_edge(name, target)
        if part.router:
            targets, several, pure = part.router
            graph.add_conditional_edges(name, picks_one, targets, many=several, role="pure" if pure else "unknown")
        if part.gate:
            graph.refine(name, to=part.gate)
    return graph


def lang_graph(spec: Spec) -> StateGraph[Any]:
    builder: Any = StateGraph(Notes)
    builder.add_edge(START, next(iter(spec.parts)))
    for name, part in spec.parts.items():
        builder.add_node(name, nothing, destinations=tuple(part.jumps[0]))
        for target in part.static:
            builder.add_edge(name, target)
        if part.router:
            targets, several, _ = part.router
            builder.add_conditional_edges(name, picks_any if several else picks_one, targets)
    return builder


def roles_of(spec: Spec) -> dict[str, str]:
    return {name: part.kind for name, part in spec.parts.items()}


# --- the declaration, followed by hand -------------------------------------------------------------------------------

Place = tuple[str, ...]


class Follow:
    """What can run after a place has, without a signal; a place is the path of node names to it."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def graph_of(self, place: Place) -> Spec:
        spec = self.spec
        for name in place[:-1]:
            inner = spec.parts[name].inner
            assert inner is not None
            spec = inner
        return spec

    def part(self, place: Place) -> Part:
        return self.graph_of(place).parts[place[-1]]

    def enter(self, place: Place) -> list[list[Place]]:
        """Ways in which what is wired to `place` begins."""
        part = self.part(place)
        if part.inner is not None:
            return self.enter((*place, next(iter(part.inner.parts))))
        return [[place]]

    def arrive(self, graph: Place, target: str) -> list[list[Place]]:
        if target != END:
            return self.enter((*graph, target))
        return self.leave(graph) if graph else [[]]

    def leave(self, place: Place) -> list[list[Place]]:
        """Ways on from a node that has finished."""
        part, graph = self.part(place), place[:-1]
        ours = self.graph_of(place).ours
        choices: list[list[list[Place]]] = [self.arrive(graph, target) for target in part.static]
        routed = part.router and not self.routed_by_model(place)
        if routed:
            assert part.router is not None
            choices.append(self.any_of(graph, part.router[0], several=part.router[1], none=False))
        if part.router and self.routed_by_model(place):
            choices.append([[(*place, "router()")]])
        if part.inner is None:
            choices.append(self.any_of(graph, *self.jumps(part, ours=ours), none=True))
        ends = part.kind in ("actor", "graph") or (part.kind == "tool" and not part.static and not part.router)
        if ours and ends and graph:
            stopped = self.leave(graph)
            return [*self.together(choices), *stopped, *self.together([*choices, stopped])]
        dangling = not ours and not part.static and not part.router
        if dangling and graph:
            choices.append(self.leave(graph))
        return self.together(choices)

    def jumps(self, part: Part, *, ours: bool) -> tuple[list[str], bool]:
        targets, many = part.jumps
        return targets, many or not ours

    def routed_by_model(self, place: Place) -> bool:
        part = self.part(place)
        return self.graph_of(place).ours and part.router is not None and not part.router[2]

    def any_of(self, graph: Place, targets: list[str], several: bool, *, none: bool) -> list[list[Place]]:
        if not targets:
            return [[]]
        one = [way for target in targets for way in self.arrive(graph, target)]
        if not several:
            return [*one, *([[]] if none else [])]
        twice = [*targets, *targets]
        packets = [p for size in range(len(twice) + 1) for p in combinations(twice, size)]
        return [way for p in packets for way in self.together([self.arrive(graph, t) for t in p])]

    def together(self, choices: list[list[list[Place]]]) -> list[list[Place]]:
        ways = {tuple(sorted(p for way in chosen for p in way)) for chosen in product(*choices)}
        return [list(way) for way in ways]

    def after(self, place: Place) -> list[list[Place]]:
        if place[-1] == "router()":
            part = self.part(place[:-1])
            assert part.router is not None
            return self.any_of(place[:-2], part.router[0], several=part.router[1], none=False)
        ways = self.leave(place)
        owner = place[:-1]
        if owner and self.part(owner).jumps[0] and self.part(place).kind in ("pure", "unknown", "world"):
            targets, many = self.part(owner).jumps
            ways = self.together([ways, self.any_of(owner[:-1], targets, many, none=True)])
        return ways

    def places(self, spec: Spec | None = None, at: Place = ()) -> dict[Place, str]:
        found: dict[Place, str] = {}
        for name, part in (spec or self.spec).parts.items():
            place = (*at, name)
            found |= self.places(part.inner, place) if part.inner else {place: part.kind}
            if self.routed_by_model(place):
                found[*place, "router()"] = "unknown"
        return found


def is_ungrounded(spec: Spec) -> bool:
    follow = Follow(spec)
    places = follow.places()
    after = {place: follow.after(place) for place in places}
    for model, kind in places.items():
        if kind not in ("actor", "critic", "unknown"):
            continue
        stop = {p for p, k in places.items() if k == "world"} if kind == "unknown" else set[Place]()
        if any(comes_back_with(start, model, after, stop) for start in places if start not in stop):
            return True
    return False


def comes_back_with(start: Place, model: Place, after: dict[Place, list[list[Place]]], stop: set[Place]) -> bool:
    """From one run of `start`: another run of it, and a run of `model` on the way or beside it."""
    seen: set[tuple[Place, Place]] = set()
    pending: list[tuple[Place, Place]] = [(start, ())]
    while pending:
        pair = pending.pop()
        for one, other in (pair, pair[::-1]):
            if not one or one in stop:
                continue
            found = {((), other)}
            for way in after[one]:
                found |= {(p, other) for p in way}
                if not other:
                    found |= set(combinations(way, 2))
            for new in found - seen:
                seen.add(new)
                pending.append(new)
    if start == model:
        return any(start in pair for pair in seen)
    return any(set(pair) == {start, model} for pair in seen)


@given(specs())
def test_the_verdict_equals_following_the_declaration(spec: Spec) -> None:
    wiring = feedback_graph(spec).wiring()
    proved = not ungrounded_cycles(wiring) and not ungrounded_side_runs(wiring)
    assert proved != is_ungrounded(spec)
