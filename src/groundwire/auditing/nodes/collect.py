"""Reads the facts of each node of a graph, tools and subgraphs included, and which nodes every run passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from groundwire.auditing.conditions import Test, all_of, when
from groundwire.auditing.declared_graph import END, START, Graph, GraphValue, Node
from groundwire.auditing.nodes.declared import as_declared
from groundwire.auditing.nodes.facts import Facts, Jump
from groundwire.auditing.nodes.following import Outcome, follow_action, state_of
from groundwire.auditing.nodes.updates import Write, read_update, united
from groundwire.auditing.reading.frames import Effect
from groundwire.auditing.reading.merging import options
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.reading.tools import ToolKind, inspect_tool
from groundwire.auditing.taints import Kind, Taint, Taints, world
from groundwire.auditing.values import Command, Items, Send, ToolNode

__all__ = ["facts_of_graph", "of_subgraph", "of_tools", "surely_passed"]

# Which nodes of a graph every run passes.


def surely_passed(graph: Graph) -> set[str]:
    """Nodes without which the end can't be reached, by the declared edges."""
    steps: dict[str, set[str]] = {}
    for edge in graph.edges:
        steps.setdefault(edge.source, set()).add(edge.target)
    for branch in graph.branches:
        steps.setdefault(branch.source, set()).update(
            (branch.ends or {END: END, **{n: n for n in graph.nodes}}).values()
        )
    for node in graph.nodes.values():
        if node.destinations:
            steps.setdefault(node.name, set()).update(node.destinations)
        if node.name not in steps:
            steps[node.name] = {END}
    return {name for name in graph.nodes if not _reaches(steps, without=name)}


def _reaches(steps: dict[str, set[str]], *, without: str) -> bool:
    pending, seen = [START], {START, without}
    while pending:
        for target in steps.get(pending.pop(), ()):
            if target == END:
                return True
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return False


# What a graph that runs as a node asks and writes, seen from outside.


def of_subgraph(inner: Graph, facts: Mapping[str, Facts], node: Node) -> Facts:
    """Facts of the node, from those of the nodes inside."""
    sure = surely_passed(inner)
    effects = tuple(
        replace(e, guard=e.guard or ("" if n in sure else f"only through {n}"))
        for n, f in facts.items()
        for e in f.effects
    )
    asked = frozenset(e for n, f in facts.items() if n in sure for e in f.asked)
    writes = united([{k: _outside_view(w) for k, w in f.writes.items()} for f in facts.values()])
    for write in writes.values():
        write.always = False
    if inner.kind == "agent":
        writes = {
            "messages": Write(
                frozenset({Taint(Kind.MODEL, "text", node.name)}), frozenset({Taint(Kind.MODEL, "text", node.name)})
            )
        }
    jumps = [replace(j, to_parent=False) for f in facts.values() for j in f.jumps if j.to_parent]
    return Facts(effects, asked, writes, jumps, nested=(inner,))


def _outside_view(write: Write) -> Write:
    def without(taints: Taints) -> Taints:
        return frozenset(t for t in taints if t.kind not in {Kind.KEY, Kind.LAST, Kind.LENGTH, Kind.COMPARE})

    kept = without(write.taints) | _flattened(write.taints)
    return Write(kept, without(write.last) | _flattened(write.last), write.always)


def _flattened(taints: Taints) -> Taints:
    """Sources of the comparisons among these, without the keys of the state."""
    found: set[Taint] = set()
    for taint in taints:
        if taint.test is not None:
            inner = taint.test.taints
            found |= {t for t in inner if t.kind not in {Kind.KEY, Kind.LAST, Kind.LENGTH, Kind.COMPARE}} | _flattened(
                inner
            )
    return frozenset(found)


# What a node that runs the tools of a model asks and writes.

ASK = frozenset({Taint(Kind.ASK)})


def of_tools(reader: Reader, node: ToolNode, where: Node) -> Facts:
    """Facts of the node, from what each of its tools does."""
    if node.tools is None:
        effect = Effect(Kind.UNKNOWN, node.why or "its tools are not in sight", "tools", where.place)
        unseen: Taints = frozenset({Taint(Kind.UNKNOWN, effect.detail)})
        return Facts((effect,), frozenset({effect}), {"messages": Write(unseen, unseen)}, runs_tools=True)
    seen = [inspect_tool(reader, t) for t in node.tools]
    effects: list[Effect] = []
    for tool in seen:
        label = f"{tool.label}: {tool.why}" if tool.label else tool.why
        match tool.kind:
            case ToolKind.WORLD:
                effects.append(Effect(Kind.WORLD, "tool", label, where.place, declared=tool.declared))
            case ToolKind.HUMAN:
                effects.append(Effect(Kind.HUMAN, "", label, where.place, declared=tool.declared))
            case ToolKind.UNKNOWN:
                effects.append(Effect(Kind.UNKNOWN, tool.why, tool.label, where.place))
            case ToolKind.MODEL:
                effects.append(Effect(Kind.MODEL, "", label, where.place))
            case _:
                pass
    outside = any(e.kind in {Kind.WORLD, Kind.HUMAN} for e in effects)
    unseen_too = any(e.kind is Kind.UNKNOWN for e in effects)
    echo = frozenset({Taint(Kind.MODEL, "fields", "what the model passed to the tool")})
    said = (
        world("tool", where.name)
        if outside
        else frozenset({Taint(Kind.UNKNOWN, "what its tools do")})
        if unseen_too
        else echo
    )
    jumps = [
        Jump(j.goto, when(Test(ASK, text="the model calls the tool")), j.to_parent)
        for t in seen
        for j in t.jumps
        if j.goto
    ]
    notes = tuple(f"{t.label}: {t.why}" for t in seen if t.kind is ToolKind.NOTHING)
    write = Write(said, said)
    asked = frozenset(e for e in effects if e.kind is not Kind.HUMAN)
    leaves = bool(seen) and all(t.kind is ToolKind.HANDOFF and all(j.to_parent for j in t.jumps) for t in seen)
    writes = {"messages": write, **({"*": replace(write, always=False)} if jumps else {})}
    return Facts(tuple(effects), asked, writes, jumps, runs_tools=True, leaves=leaves, notes=notes)


# Reads the facts of each node of a graph: its functions are followed once.


def facts_of_graph(reader: Reader, graph: Graph) -> dict[str, Facts]:
    """Facts of each node, read once; of a graph that is being read already, none.

    Raises:
        TooComplex: there is more to follow than we are ready to; nothing of it is kept.
    """
    known = reader.facts.get(graph)
    if known is None:
        known = reader.facts[graph] = {}
        try:
            for node in graph.nodes.values():
                known[node.name] = _facts(reader, graph, node)
        except BaseException:
            # facts of some nodes would be taken for those of all
            del reader.facts[graph]
            raise
    return known


def _facts(reader: Reader, graph: Graph, node: Node) -> Facts:
    declared = reader.role_of(graph, node)
    match node.action.thing:
        case ToolNode():
            facts = of_tools(reader, node.action.thing, node)
            if graph.kind == "message":
                facts.writes["*"] = facts.writes["messages"]
        case GraphValue(graph=inner):
            facts = of_subgraph(inner, facts_of_graph(reader, inner), node)
        case _:
            facts = _of_action(reader, graph, node)
    return as_declared(facts, declared, node) if declared else facts


def _of_action(reader: Reader, graph: Graph, node: Node) -> Facts:
    state = state_of(reader, graph)
    frame, outcomes = follow_action(reader, node.action, state, node.name)
    updates: list[dict[str, Write]] = []
    jumps: list[Jump] = []
    for outcome in outcomes:
        for value, formula in options(outcome.value):
            found = all_of([outcome.when, formula])
            _read_value(replace(outcome, value=value, when=found), updates, jumps)
    return Facts(
        effects=tuple(frame.effects),
        asked=frozenset(frame.asked),
        writes=united(updates),
        jumps=jumps,
        reads=frozenset(state.read),
        loops=tuple(frame.loops),
        nested=tuple(dict.fromkeys(frame.nested)),
        runs_tools=any(e.kind is Kind.WORLD and e.detail == "tool" for e in frame.effects),
    )


def _read_value(outcome: Outcome, updates: list[dict[str, Write]], jumps: list[Jump]) -> None:
    thing = outcome.value.thing
    if isinstance(thing, Items) and any(
        isinstance(i.thing, Command | Send) for i in [*thing.items, *([thing.rest] if thing.rest else [])]
    ):
        for item in (*thing.items, *([thing.rest] if thing.rest else [])):
            _read_value(replace(outcome, value=item), updates, jumps)
        return
    if isinstance(thing, Command):
        if thing.goto is not None:
            jumps.append(Jump(thing.goto, outcome.when, thing.to_parent, outcome.asked))
        updates.append(read_update(thing.update, outcome.when) if thing.update is not None else {})
        return
    if isinstance(thing, Send):
        jumps.append(Jump(outcome.value, outcome.when, asked=outcome.asked))
        return
    updates.append(read_update(outcome.value, outcome.when))
