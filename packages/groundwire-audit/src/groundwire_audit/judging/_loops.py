"""Finds and judges all loops of a graph, graphs inside its nodes and loops in their source included."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from groundwire_audit._report import NOWHERE, Finding, Grounding, Level, Loop, LoopStep, SourcePlace
from groundwire_audit.judging._openings import FORM_ONLY, Basis, Opening, WayRound, is_pattern, weakest
from groundwire_audit.judging._verdicts import RoundFacts, judge
from groundwire_audit.judging._wiring import WiredEdge, WiredGraph
from groundwire_audit.reading._conditions import TOO_LONG, Literal, Taint, TaintKind, Taints, Test, paths, reason
from groundwire_audit.reading._frames import Effect, SeenLoop, is_asked
from groundwire_audit.reading._graph import DeclaredGraph
from groundwire_audit.reading._reader import Facts

# Finds ways round: each simple cycle, up to a bound, shortest first.

MAX_CYCLES = 2000
MAX_WORK = 200_000
Steps = Mapping[str, Iterable[str]]


def components(nodes: Iterable[str], steps: Steps) -> list[set[str]]:
    """Strongly connected sets of nodes that hold a cycle (Tarjan 1972, without recursion)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    held: set[str] = set()
    found: list[set[str]] = []
    for root in nodes:
        if root in order:
            continue
        work = [(root, iter(sorted(steps.get(root, ()))))]
        order[root] = low[root] = len(order)
        stack.append(root)
        held.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in order:
                    order[target] = low[target] = len(order)
                    stack.append(target)
                    held.add(target)
                    work.append((target, iter(sorted(steps.get(target, ())))))
                    break
                if target in held:
                    low[node] = min(low[node], order[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    found.append(_unwound(stack, held, node))
    return [c for c in found if len(c) > 1 or next(iter(c)) in set(steps.get(next(iter(c)), ()))]


def _unwound(stack: list[str], held: set[str], node: str) -> set[str]:
    component: set[str] = set()
    while True:
        top = stack.pop()
        held.discard(top)
        component.add(top)
        if top == node:
            return component


def cycles(nodes: Iterable[str], steps: Steps) -> tuple[list[tuple[str, ...]], bool]:
    """Simple cycles as node names, each once, starting at its first node in the order given.

    Returns:
        The cycles, the shortest first, and whether these are all. Where there are more than can be listed, at least the
        shortest one through every edge is in the list.
    """
    names = list(nodes)
    found: dict[tuple[str, ...], None] = {}
    complete = True
    for component in components(names, steps):
        ordered = [n for n in names if n in component]
        inside = {n: [t for t in steps.get(n, ()) if t in component] for n in ordered}
        listed = _listed(ordered, inside)
        if listed is None:
            complete = False
            listed = [c for n in ordered for t in inside[n] if (c := _shortest(inside, n, t)) is not None]
        for cycle in listed:
            found.setdefault(_turned(cycle, names))
    return sorted(found, key=lambda c: (len(c), [names.index(n) for n in c])), complete


def _turned(cycle: tuple[str, ...], names: list[str]) -> tuple[str, ...]:
    first = min(range(len(cycle)), key=lambda i: names.index(cycle[i]))
    return cycle[first:] + cycle[:first]


def _listed(ordered: list[str], inside: Mapping[str, list[str]]) -> list[tuple[str, ...]] | None:
    """All simple cycles, each from the earliest of its nodes; None where there are too many."""
    found: list[tuple[str, ...]] = []
    rank = {n: i for i, n in enumerate(ordered)}
    work = 0
    for start in ordered:
        path = [start]
        on_path = {start}
        pending = [iter(inside[start])]
        while pending:
            work += 1
            if work > MAX_WORK or len(found) > MAX_CYCLES:
                return None
            target = next(pending[-1], None)
            if target is None:
                pending.pop()
                on_path.discard(path.pop())
            elif target == start:
                found.append(tuple(path))
            elif target not in on_path and rank[target] > rank[start]:
                path.append(target)
                on_path.add(target)
                pending.append(iter(inside[target]))
    return found


def _shortest(inside: Mapping[str, list[str]], source: str, target: str) -> tuple[str, ...] | None:
    """The shortest cycle that takes the edge from `source` to `target`."""
    came_from: dict[str, str] = {}
    pending = deque([target])
    while pending:
        node = pending.popleft()
        if node == source:
            path = [source]
            while node != target:
                node = came_from[node]
                path.append(node)
            return (source, *reversed(path[1:])) if len(path) > 1 else (source,)
        for following in inside[node]:
            if following not in came_from and following != target:
                came_from[following] = node
                pending.append(following)
    return None


MAX_REPORTED = 60


def loops_of(wiring: WiredGraph, prefix: str = "") -> list[Loop]:
    """Loops over the nodes of one graph: of each verdict the shortest ones through every edge that has one."""
    names = list(wiring.graph.nodes)
    steps: dict[str, list[str]] = {}
    for source, target in wiring.edges:
        if source in wiring.graph.nodes and target in wiring.graph.nodes:
            steps.setdefault(source, []).append(target)
    found: list[Loop] = []
    covered: dict[Grounding, set[tuple[str, str]]] = {}
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


def _anywhere(wiring: WiredGraph, node: str, prefix: str) -> Loop:
    why, place = wiring.anywhere[node]
    return Loop(Grounding.UNKNOWN, "undeclared targets", (f"{prefix}{node}", "?"), why, Level.WARNING, place=place)


def _judged(wiring: WiredGraph, cycle: tuple[str, ...], prefix: str) -> Loop:
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
    openings = [_counted_down(wiring, cycle, e, o) for e, o in zip(edges, openings, strict=True)]
    on_it = [*cycle, *(n for group in beside for n in sorted(group))]
    seen = _seen(wiring, cycle, on_it, edges, openings, around)
    judged = judge(seen)
    place = _place(edges, openings)
    steps = tuple(LoopStep(f"{prefix}{n}", o.words, e.place) for n, o, e in zip(cycle, openings, edges, strict=True))
    outside = [f"{n}: {e.what or e.detail}" for n, e in seen.effects if e.kind in {TaintKind.WORLD, TaintKind.HUMAN}]
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
        compiled=not wiring.graph.ends,
        unseen=judged.unseen if judged.unseen in cycle else "",
    )


def _counted_down(wiring: WiredGraph, cycle: Sequence[str], edge: WiredEdge, opening: Opening) -> Opening:
    """A count down to nothing, from how many a node before the loop found: items are left."""
    if opening.basis is not Basis.COUNTER or opening.limit != 0:
        return opening
    keys = {k for w in edge.ways for t, _ in w.literals if t.limit == 0 for k in _keys(t.left)}
    before = [f.writes[k] for n, f in wiring.facts.items() if n not in cycle for k in keys & f.writes.keys()]
    if any(t.kind in {TaintKind.WORLD, TaintKind.LENGTH} for w in before for t in w.taints):
        return replace(opening, basis=Basis.WORKLIST, source="items that are left")
    return opening


def _without_tools(opening: Opening) -> Opening:
    """Whether the model asks for a tool is only its word where the edge leads to no tool."""
    return replace(opening, basis=Basis.ASIDE) if opening.basis is Basis.ASK else opening


def _beside(wiring: WiredGraph, on_cycle: set[str], node: str, into: WiredEdge) -> frozenset[str]:
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


def _round(wiring: WiredGraph, cycle: Sequence[str], beside: Sequence[frozenset[str]]) -> WayRound:
    graph = wiring.graph
    paused = any(_gated(wiring, n) for n in cycle)
    texts = frozenset(k for k, a in graph.schema.items() if _is_text(a))
    appends = frozenset({*graph.appends, *("*" if graph.kind == "message" else "")})
    asked = [
        e
        for n in frozenset(cycle).union(*beside)
        for e in (*wiring.facts[n].effects, *wiring.router_effects.get(n, ()))
    ]
    return WayRound(cycle, beside, wiring.facts, appends, texts, paused, is_asked(asked, TaintKind.HUMAN))


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


def _gated(wiring: WiredGraph, node: str) -> bool:
    gates = wiring.graph.gates
    return wiring.graph.nodes[node].human_gate or node in gates or "*" in gates


def _seen(
    wiring: WiredGraph,
    cycle: Sequence[str],
    on_it: Sequence[str],
    edges: Sequence[WiredEdge],
    openings: Sequence[Opening],
    around: WayRound,
) -> RoundFacts:
    effects: list[tuple[str, Effect]] = [(n, e) for n in on_it for e in wiring.facts[n].effects]
    effects += [(f"the router of {n}", e) for n in cycle for e in wiring.router_effects.get(n, ())]
    always = any(
        _gated(wiring, n) or n in wiring.router_asks or _asks_person(wiring.facts[n], e)
        for n, e in zip(cycle, edges, strict=True)
    )
    maybe = [e.guard or "its tool is called" for _, e in effects if e.kind is TaintKind.HUMAN]
    tools = [n for n in on_it if wiring.facts[n].runs_tools]
    return RoundFacts(
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


def _leaves(wiring: WiredGraph, cycle: Sequence[str]) -> list[bool]:
    """For each node of the cycle: can it lead out of the component, so that no loop around it is gone round again?"""
    steps: dict[str, list[str]] = {}
    for source, target in wiring.edges:
        steps.setdefault(source, []).append(target)
    around = next((c for c in components(wiring.graph.nodes, steps) if cycle[0] in c), set(cycle))
    return [any(t not in around for t in steps.get(n, ())) or n in wiring.to_parent for n in cycle]


def _asks_person(facts: Facts, edge: WiredEdge) -> bool:
    """A person is asked on every way through the node that takes this edge."""
    if facts.surely(TaintKind.HUMAN):
        return True
    return bool(edge.ways) and edge.kind == "jump" and all(is_asked(w.asked, TaintKind.HUMAN) for w in edge.ways)


def _is_react(
    wiring: WiredGraph, cycle: Sequence[str], edges: Sequence[WiredEdge], openings: Sequence[Opening]
) -> bool:
    """The only model chooses what another node carries out outside; only that choice, and a counter, decide."""
    models = [n for n in cycle if wiring.facts[n].has(TaintKind.MODEL)]
    if len(models) != 1 or len(cycle) < 2 or any(e.asks_model for e in edges):
        return False
    deciding = [i for i, o in enumerate(openings) if o.basis in CHOICES]
    if not deciding or any(o.basis not in {Basis.FREE, Basis.COUNTER, *CHOICES} for o in openings):
        return False
    tested = {n for i in deciding for w in edges[i].ways for t, _ in w.literals for n in _keys(t.taints)}
    chosen = tested & wiring.facts[models[0]].writes.keys()
    others = (wiring.facts[n] for n in cycle if n != models[0])
    return any(f.has(TaintKind.WORLD) and f.reads & chosen for f in others)


CHOICES = frozenset({Basis.MODEL, Basis.ASK, Basis.ASIDE})


def _keys(taints: Taints) -> set[str]:
    """The keys of the state that something rests on."""
    found: set[str] = set()
    for taint in taints:
        if taint.kind in {TaintKind.KEY, TaintKind.LAST, TaintKind.LENGTH}:
            found.add(taint.detail.partition(".")[0])
        elif taint.test is not None:
            found |= _keys(taint.test.taints)
    return found


def _same_input(wiring: WiredGraph, cycle: Sequence[str]) -> bool:
    """A self-loop whose node reads nothing that it writes."""
    if len(cycle) != 1:
        return False
    facts = wiring.facts[cycle[0]]
    counted = {k for k, w in facts.writes.items() if any(t.kind is TaintKind.COUNTER for t in w.taints)}
    return bool(facts.reads) and not (facts.reads - counted) & facts.writes.keys() and "*" not in facts.writes


def _place(edges: Sequence[WiredEdge], openings: Sequence[Opening]) -> SourcePlace:
    deciding = max(range(len(edges)), key=lambda i: (openings[i].basis, edges[i].kind != "edge"))
    if edges[deciding].place != NOWHERE:
        return edges[deciding].place
    return next((e.place for e in edges if e.place != NOWHERE), NOWHERE)


def _cap(openings: Iterable[Opening], graph: DeclaredGraph | None) -> str:
    """What ends a loop at the latest; of one that stands in the source of a node, no graph."""
    limits = [o.limit for o in openings if o.counted and o.limit is not None]
    if limits:
        return f"capped {min(limits):g}"
    if any(o.basis is Basis.WORKLIST for o in openings):
        return "items"
    if any(o.counted or o.basis is Basis.COUNTER for o in openings):
        return "capped"
    if graph is None:
        return "no cap"
    if graph.ends:
        return graph.ends
    return f"recursion limit {graph.recursion_limit} only" if graph.recursion_limit else "recursion limit only"


def _is_empty_reply(test: Test, *, holds: bool) -> bool:
    """It goes round because a model gave no reply at all, not because of what is in one."""
    replies = [t for t in test.left if t.kind is TaintKind.MODEL]
    whole = bool(replies) and all(t.detail == "text" for t in replies)
    plain = not test.right and reason(test.left) != TOO_LONG and not any(_tells_more(t) for t in test.left)
    return (test.op, holds) in {("", False), ("is", True)} and whole and plain


def _says(taints: Taints) -> bool:
    """A model's word is in it."""
    return any(t.kind is TaintKind.MODEL or (t.test is not None and _says(t.test.taints)) for t in taints)


def _tells_more(taint: Taint) -> bool:
    if taint.test is not None:
        return _says(taint.test.taints)
    return taint.kind in {TaintKind.KEY, TaintKind.LAST, TaintKind.LENGTH, TaintKind.ASK}


def _counts(test: Test) -> bool:
    """A number of tries against a limit, whatever makes it a try."""
    return test.op in {"<", "<=", ">", ">="} and any(t.kind is TaintKind.COUNTER for t in test.taints)


def _past_tools(ways: list[frozenset[Literal]], around: WayRound, opening: Opening) -> Opening:
    """Of a loop that runs the tools that a model asks for: what opens a way round on which it asks for none, if any."""
    if opening.basis is not Basis.ASK:
        return opening
    each = [weakest([w], 0, before=[False], around=around) for w in ways]
    past = max((o for o in each if o.basis < Basis.ASK), key=lambda o: o.basis, default=opening)
    return replace(past, counted=opening.counted, limit=opening.limit)


def loops_in_source(wiring: WiredGraph, node: str, seen_loops: Sequence[SeenLoop], prefix: str = "") -> list[Loop]:
    """Loops that are written inside a node's function and hold a model call."""
    found: list[Loop] = []
    for seen in seen_loops:
        person = is_asked(seen.effects, TaintKind.HUMAN)
        around = WayRound((node,), (frozenset(),), {}, frozenset(), frozenset(), asks=person)
        ways = paths(seen.again)
        if not ways:
            continue
        opening = _past_tools(ways, around, weakest(ways, 0, before=[False] * len(ways), around=around))
        if not opening.counted and all(any(_counts(t) for t, _ in w) for w in ways):
            opening = replace(opening, counted=True)
        if opening.basis is Basis.MODEL and all(
            _is_empty_reply(t, holds=holds) or not (_says(t.taints) or is_pattern(t)) for w in ways for t, holds in w
        ):
            opening = replace(opening, basis=Basis.OUTSIDE, kind=FORM_ONLY, source="whether there is a reply at all")
        effects = [(node, e) for e in seen.effects]
        always = is_asked(seen.asked, TaintKind.HUMAN)
        maybe = [e.guard for e in seen.effects if e.kind is TaintKind.HUMAN and e.guard]
        if seen.works_out and opening.basis is Basis.ASK:
            effects.append((node, Effect(TaintKind.WORLD, "tool", "what its functions work out", seen.place)))
        if not any(e.kind is TaintKind.WORLD for _, e in effects):
            opening = _without_tools(opening)
        tools = [node] if opening.basis is Basis.ASK else []
        judged = judge(
            RoundFacts(
                [opening],
                effects,
                always,
                () if always else maybe,
                tools,
                react=seen.acts and opening.basis in CHOICES,
                endless=opening.basis is Basis.FREE,
            )
        )
        if judged.verdict is Grounding.WORKLIST:
            continue
        outside = [
            f"{node}: {e.what or e.detail}" for e in seen.effects if e.kind in {TaintKind.WORLD, TaintKind.HUMAN}
        ]
        found.append(
            Loop(
                judged.verdict,
                judged.kind,
                (f"{prefix}{node}",),
                judged.why,
                judged.level,
                _cap([opening], None),
                (LoopStep(f"{prefix}{node}", opening.words, seen.place),),
                seen.place,
                inside=True,
                compiled=wiring.graph.kind != "source",
                declared=(f"{node} ({wiring.facts[node].declared})",)
                if node in wiring.facts and wiring.facts[node].declared
                else (),
                notes=tuple(judged.notes),
                outside=tuple(dict.fromkeys(outside)),
            )
        )
    return found
