"""Finds and judges all loops of a graph, graphs inside its nodes and loops in their source included."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace

from groundwire.auditing.conditions import paths
from groundwire.auditing.declared_graph import Graph
from groundwire.auditing.judging.basis import Basis, Opening, weakest
from groundwire.auditing.judging.cycles import components, cycles
from groundwire.auditing.judging.resolving import Round
from groundwire.auditing.judging.steps import Edge, Wiring
from groundwire.auditing.judging.verdicts import Seen, judge
from groundwire.auditing.nodes.facts import Facts
from groundwire.auditing.places import NOWHERE, Place
from groundwire.auditing.reading.frames import Effect, SeenLoop
from groundwire.auditing.report import Finding, Level, Loop, Step, Verdict
from groundwire.auditing.taints import Kind

__all__ = ["loops_in_source", "loops_of"]

MAX_REPORTED = 60


def loops_of(wiring: Wiring, prefix: str = "") -> list[Loop]:
    """Loops over the nodes of one graph: of each verdict the shortest ones through every edge that has one."""
    names = list(wiring.graph.nodes)
    steps: dict[str, list[str]] = {}
    for source, target in wiring.edges:
        if source in wiring.graph.nodes and target in wiring.graph.nodes:
            steps.setdefault(source, []).append(target)
    found: list[Loop] = []
    covered: dict[Verdict, set[tuple[str, str]]] = {}
    listed, complete = cycles(names, steps)
    for cycle in listed:
        loop = _judged(wiring, cycle, prefix)
        taken = set(zip(cycle, (*cycle[1:], cycle[0]), strict=True))
        seen = covered.setdefault(loop.verdict, set())
        if taken <= seen:
            continue
        if len(found) < MAX_REPORTED or loop.level is Level.ERROR:
            found.append(loop)
            seen |= taken
        else:
            complete = False
    if not complete:
        said = "There are more ways round than can be listed: only the shortest through each edge were judged."
        wiring.findings.append(Finding("too-many-loops", said, wiring.graph.place))
    return found + [_anywhere(wiring, node, prefix) for node in wiring.anywhere]


def _anywhere(wiring: Wiring, node: str, prefix: str) -> Loop:
    why, place = wiring.anywhere[node]
    return Loop(Verdict.UNKNOWN, "undeclared targets", (f"{prefix}{node}", "?"), why, Level.WARNING, place=place)


def _judged(wiring: Wiring, cycle: tuple[str, ...], prefix: str) -> Loop:
    edges = [wiring.edges[a, b] for a, b in zip(cycle, (*cycle[1:], cycle[0]), strict=True)]
    beside = [_beside(wiring, set(cycle), cycle[i], edges[i - 1]) for i in range(len(cycle))]
    around = _round(wiring, cycle, beside)
    openings = [
        weakest([w.literals for w in e.ways], i, before=[w.before for w in e.ways], around=around)
        for i, e in enumerate(edges)
    ]
    openings = [
        _without_tools(o) if not wiring.facts[e.target].runs_tools else o for o, e in zip(openings, edges, strict=True)
    ]
    on_it = [*cycle, *(n for group in beside for n in sorted(group))]
    seen = _seen(wiring, cycle, on_it, edges, openings, around)
    judged = judge(seen)
    place = _place(edges, openings)
    steps = tuple(Step(f"{prefix}{n}", o.words, e.place) for n, o, e in zip(cycle, openings, edges, strict=True))
    outside = [f"{n}: {e.what or e.detail}" for n, e in seen.effects if e.kind in {Kind.WORLD, Kind.HUMAN}]
    declared = [f"{n} ({wiring.facts[n].declared})" for n in on_it if wiring.facts[n].declared]
    declared += [e.declared for _, e in seen.effects if e.declared]
    return Loop(
        judged.verdict,
        judged.kind,
        tuple(f"{prefix}{n}" for n in cycle),
        judged.why,
        judged.level,
        _cap(openings, wiring.graph),
        steps,
        place,
        declared=tuple(dict.fromkeys(declared)),
        notes=tuple(judged.notes),
        outside=tuple(dict.fromkeys(outside)),
    )


def _without_tools(opening: Opening) -> Opening:
    """Whether the model asks for a tool is only its word where the edge leads to no tool."""
    return replace(opening, basis=Basis.ASIDE) if opening.basis is Basis.ASK else opening


def _beside(wiring: Wiring, on_cycle: set[str], node: str, into: Edge) -> frozenset[str]:
    """Nodes off the cycle that always run before `node`: joined with its predecessor, or started together with it."""
    joined = {s for s in into.joins if s not in on_cycle}
    static: dict[str, set[str]] = {}
    for (source, target), edge in wiring.edges.items():
        if edge.kind == "edge":
            static.setdefault(source, set()).add(target)
    started = {t for s in on_cycle for t in static.get(s, ()) if t not in on_cycle and t in wiring.graph.nodes}
    frontier = set(started)
    while frontier:
        frontier = {
            t for s in frontier for t in static.get(s, ()) if t not in on_cycle and t in wiring.graph.nodes
        } - started
        started |= frontier
    return frozenset(joined | {s for s in started if node in static.get(s, ())})


def _round(wiring: Wiring, cycle: Sequence[str], beside: Sequence[frozenset[str]]) -> Round:
    graph = wiring.graph
    paused = any(_gated(wiring, n) for n in cycle)
    texts = frozenset(k for k, a in graph.schema.items() if _is_text(a))
    appends = frozenset({*graph.appends, *("*" if graph.kind == "message" else "")})
    return Round(cycle, beside, wiring.facts, appends, texts, paused)


def _is_text(annotation: ast.expr) -> bool:
    match annotation:
        case ast.Name(id="str") | ast.Constant(value="str"):
            return True
        case ast.BinOp(left=left):
            return _is_text(left)
        case ast.Subscript(value=ast.Name(id="Optional" | "Annotated"), slice=inner):
            return _is_text(inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner)
        case _:
            return False


def _gated(wiring: Wiring, node: str) -> bool:
    gates = wiring.graph.gates
    return wiring.graph.nodes[node].human_gate or node in gates or "*" in gates


def _seen(
    wiring: Wiring,
    cycle: Sequence[str],
    on_it: Sequence[str],
    edges: Sequence[Edge],
    openings: Sequence[Opening],
    around: Round,
) -> Seen:
    effects: list[tuple[str, Effect]] = [(n, e) for n in on_it for e in wiring.facts[n].effects]
    effects += [(f"the router of {n}", e) for n in cycle for e in wiring.router_effects.get(n, ())]
    always = any(_gated(wiring, n) or _asks_person(wiring.facts[n], e) for n, e in zip(cycle, edges, strict=True))
    maybe = [e.guard or "its tool is called" for _, e in effects if e.kind is Kind.HUMAN]
    tools = [n for n in on_it if wiring.facts[n].runs_tools]
    return Seen(
        openings,
        effects,
        person_always=always,
        person_maybe=() if always else tuple(dict.fromkeys(maybe)),
        runs_tools=tools,
        react=_is_react(wiring, cycle, edges, openings),
        no_tools=tuple(note for n in tools for note in wiring.facts[n].notes),
        same_input=_same_input(wiring, cycle),
        leaves=_leaves(wiring, cycle),
        endless=not any(s in cycle and t not in cycle for s, t in wiring.edges)
        and not any(n in wiring.anywhere for n in cycle),
    )


def _leaves(wiring: Wiring, cycle: Sequence[str]) -> list[bool]:
    """For each node of the cycle: can it lead out of the component, so that no loop around it is gone round again?"""
    steps: dict[str, list[str]] = {}
    for source, target in wiring.edges:
        steps.setdefault(source, []).append(target)
    around = next((c for c in components(wiring.graph.nodes, steps) if cycle[0] in c), set(cycle))
    return [any(t not in around for t in steps.get(n, ())) or n in wiring.to_parent for n in cycle]


def _asks_person(facts: Facts, edge: Edge) -> bool:
    """A person is asked on every way through the node that takes this edge."""
    if facts.surely(Kind.HUMAN):
        return True
    return (
        bool(edge.ways) and edge.kind == "jump" and all(any(e.kind is Kind.HUMAN for e in w.asked) for w in edge.ways)
    )


def _is_react(wiring: Wiring, cycle: Sequence[str], edges: Sequence[Edge], openings: Sequence[Opening]) -> bool:
    """The only model chooses what the next node carries out, and nothing else decides."""
    models = [n for n in cycle if wiring.facts[n].has(Kind.MODEL)]
    if len(models) != 1 or len(cycle) < 2:
        return False
    at = cycle.index(models[0])
    following = cycle[(at + 1) % len(cycle)]
    chosen = openings[at].basis is Basis.MODEL and not edges[at].asks_model
    others_free = all(o.basis in {Basis.FREE, Basis.COUNTER} for i, o in enumerate(openings) if i != at)
    facts = wiring.facts[following]
    carries_out = facts.surely(Kind.WORLD) and bool(facts.reads & wiring.facts[models[0]].writes.keys())
    return chosen and others_free and carries_out


def _same_input(wiring: Wiring, cycle: Sequence[str]) -> bool:
    """A self-loop whose node reads nothing that it writes."""
    if len(cycle) != 1:
        return False
    facts = wiring.facts[cycle[0]]
    counted = {k for k, w in facts.writes.items() if any(t.kind is Kind.COUNTER for t in w.taints)}
    return bool(facts.reads) and not (facts.reads - counted) & facts.writes.keys() and "*" not in facts.writes


def _place(edges: Sequence[Edge], openings: Sequence[Opening]) -> Place:
    deciding = max(range(len(edges)), key=lambda i: (openings[i].basis, edges[i].kind != "edge"))
    if edges[deciding].place != NOWHERE:
        return edges[deciding].place
    return next((e.place for e in edges if e.place != NOWHERE), NOWHERE)


def _cap(openings: Iterable[Opening], graph: Graph) -> str:
    limits = [o.limit for o in openings if o.counted and o.limit is not None]
    if limits:
        return f"capped {min(limits):g}"
    if any(o.basis is Basis.WORKLIST for o in openings):
        return "items"
    if any(o.counted or o.basis is Basis.COUNTER for o in openings):
        return "capped"
    return f"recursion limit {graph.recursion_limit} only" if graph.recursion_limit else "recursion limit only"


def loops_in_source(wiring: Wiring, node: str, seen_loops: Sequence[SeenLoop], prefix: str = "") -> list[Loop]:
    """Loops that are written inside a node's function and hold a model call."""
    found: list[Loop] = []
    around = Round((node,), (frozenset(),), {}, frozenset(), frozenset())
    for seen in seen_loops:
        ways = paths(seen.again)
        if not ways:
            continue
        opening = weakest(ways, 0, before=[False] * len(ways), around=around)
        effects = [(node, e) for e in seen.effects]
        person = any(e.kind is Kind.HUMAN for e in seen.asked)
        maybe = [e.guard for e in seen.effects if e.kind is Kind.HUMAN and e.guard]
        if not any(e.kind is Kind.WORLD for e in seen.effects):
            opening = _without_tools(opening)
        tools = [node] if any(e.kind is Kind.WORLD for e in seen.effects) and opening.basis is Basis.ASK else []
        judged = judge(
            Seen([opening], effects, person, () if person else maybe, tools, endless=opening.basis is Basis.FREE)
        )
        if judged.verdict is Verdict.WORKLIST:
            continue
        outside = [f"{node}: {e.what or e.detail}" for e in seen.effects if e.kind in {Kind.WORLD, Kind.HUMAN}]
        found.append(
            Loop(
                judged.verdict,
                judged.kind,
                (f"{prefix}{node}",),
                judged.why,
                judged.level,
                _cap([opening], wiring.graph),
                (Step(f"{prefix}{node}", opening.words, seen.place),),
                seen.place,
                inside=True,
                declared=(f"{node} ({wiring.facts[node].declared})",)
                if node in wiring.facts and wiring.facts[node].declared
                else (),
                notes=tuple(judged.notes),
                outside=tuple(dict.fromkeys(outside)),
            )
        )
    return found
