"""Reads the facts of each node of a graph, tools and subgraphs included, and which nodes every run passes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from groundwire_audit.reading._conditions import ALWAYS, Formula, Taint, TaintKind, Taints, Test, all_of, when, world
from groundwire_audit.reading._files import Code
from groundwire_audit.reading._frames import Arguments, Effect, Frame, options
from groundwire_audit.reading._functions import body_frame
from groundwire_audit.reading._graph import END, START, DeclaredGraph, DeclaredNode, GraphValue
from groundwire_audit.reading._models import ToolKind, inspect_tool
from groundwire_audit.reading._reader import (
    Entry,
    Facts,
    Jump,
    Reader,
    TooComplex,
    Write,
    as_declared,
    read_update,
    united,
)
from groundwire_audit.reading._values import (
    CommandValue,
    FunctionValue,
    Instance,
    Items,
    Module,
    Partial,
    Scope,
    SendValue,
    StateValue,
    ToolNodeValue,
    ToolValue,
    Value,
    data,
)

# Follows what a node or router runs, with the state as its argument.

FIXED = data(frozenset({Taint(TaintKind.FIXED)}))


GIVEN_BY_LANGGRAPH = frozenset({"config", "store", "writer", "runtime", "previous", "context"})


@dataclass(frozen=True)
class WayOut:
    """One way out of a followed function."""

    value: Value
    when: Formula
    asked: frozenset[Effect]


def follow_action(reader: Reader, action: Value, state: StateValue, name: str) -> tuple[Frame, list[WayOut]]:
    """Follows what a node or router runs, with the state as its argument."""
    frame = Frame(_module_of(action), Scope(), name, 1)
    function, first, named = function_of(reader, action, frame)
    if function is None:
        value = reader.call(action, Arguments([Value(state)]), ast.Pass(), frame)
        return frame, [WayOut(value, ALWAYS, frozenset(frame.asked))]
    arguments = function.node.args
    given = {
        a.arg: FIXED
        for a in (*arguments.args, *arguments.kwonlyargs)
        if a.arg in GIVEN_BY_LANGGRAPH and a.arg not in named
    }
    positional = [*first, Value(state)] if _takes_state(function, first, named) else list(first)
    inner = body_frame(reader, function, Arguments(positional, {**given, **named}), frame)
    return inner, [WayOut(r.value, r.when, r.asked) for r in inner.returned]


def _takes_state(function: FunctionValue, first: tuple[Value, ...], named: dict[str, Value]) -> bool:
    arguments = function.node.args
    places = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    free = places[len(first) + (1 if function.bound is not None else 0) :]
    return bool(free or arguments.vararg) and not (free and free[0] in named)


def function_of(
    reader: Reader, action: Value, frame: Frame
) -> tuple[FunctionValue | None, tuple[Value, ...], dict[str, Value]]:
    """The function that an action comes down to, with arguments that are already given."""
    match action.thing:
        case FunctionValue():
            return action.thing, (), {}
        case Partial(function=inner, arguments=first, named=named):
            function, more, others = function_of(reader, inner, frame)
            return function, (*more, *first), {**others, **dict(named)}
        case Instance():
            call = reader.attribute(action, "__call__", frame)
            if not isinstance(call.thing, FunctionValue):
                call = reader.attribute(action, "invoke", frame)
            return (call.thing if isinstance(call.thing, FunctionValue) else None), (), {}
        case _:
            return None, (), {}


def _module_of(action: Value) -> Module:
    match action.thing:
        case FunctionValue(module=module):
            return module
        case Partial(function=inner):
            return _module_of(inner)
        case Instance(of=cls):
            return cls.module
        case _:
            return Module("", Code(Path(), "", ast.Module([], [])))


def state_of(reader: Reader, graph: DeclaredGraph) -> StateValue:
    """The state as a node of this graph sees it."""
    schema = graph.schema_value
    module = getattr(schema.thing, "module", None) if schema is not None else None
    scope = getattr(schema.thing, "scope", None) if schema is not None else None
    if not isinstance(module, Module):
        return StateValue(graph.schema)
    frame = Frame(module, Scope(scope), "", 2)
    return StateValue(graph.schema, resolve=lambda annotation: reader.value(annotation, frame))


# Which nodes of a graph every run passes.


def surely_passed(graph: DeclaredGraph) -> set[str]:
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


def of_subgraph(inner: DeclaredGraph, facts: Mapping[str, Facts], node: DeclaredNode) -> Facts:
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
                frozenset({Taint(TaintKind.MODEL, "text", node.name)}),
                frozenset({Taint(TaintKind.MODEL, "text", node.name)}),
            )
        }
    jumps = [replace(j, to_parent=False) for f in facts.values() for j in f.jumps if j.to_parent]
    return Facts(effects, asked, writes, jumps, nested=(inner,))


def _outside_view(write: Write) -> Write:
    def without(taints: Taints) -> Taints:
        return frozenset(
            t for t in taints if t.kind not in {TaintKind.KEY, TaintKind.LAST, TaintKind.LENGTH, TaintKind.COMPARE}
        )

    kept = without(write.taints) | _flattened(write.taints)
    return Write(kept, without(write.last) | _flattened(write.last), write.always)


def _flattened(taints: Taints) -> Taints:
    """Sources of the comparisons among these, without the keys of the state."""
    found: set[Taint] = set()
    for taint in taints:
        if taint.test is not None:
            inner = taint.test.taints
            found |= {
                t for t in inner if t.kind not in {TaintKind.KEY, TaintKind.LAST, TaintKind.LENGTH, TaintKind.COMPARE}
            } | _flattened(inner)
    return frozenset(found)


# What a node that runs the tools of a model asks and writes.

ASK = frozenset({Taint(TaintKind.ASK)})


def of_tools(reader: Reader, node: ToolNodeValue, where: DeclaredNode) -> Facts:
    """Facts of the node, from what each of its tools does."""
    if node.tools is None:
        effect = Effect(TaintKind.UNKNOWN, node.why or "its tools are not in sight", "tools", where.place)
        unseen: Taints = frozenset({Taint(TaintKind.UNKNOWN, effect.detail)})
        return Facts((effect,), frozenset({effect}), {"messages": Write(unseen, unseen)}, runs_tools=True)
    seen = [inspect_tool(reader, t) for t in node.tools]
    asking = {t.thing.label for t in node.tools if isinstance(t.thing, ToolValue) and t.thing.asks_person}
    effects: list[Effect] = []
    for tool in seen:
        label = f"{tool.label}: {tool.why}" if tool.label else tool.why
        match tool.kind:
            case ToolKind.WORLD:
                effects.append(Effect(TaintKind.WORLD, "tool", label, where.place, declared=tool.declared))
            case ToolKind.HUMAN:
                effects.append(Effect(TaintKind.HUMAN, "", label, where.place, declared=tool.declared))
            case ToolKind.UNKNOWN:
                effects.append(Effect(TaintKind.UNKNOWN, tool.why, tool.label, where.place))
            case ToolKind.MODEL:
                effects.append(Effect(TaintKind.MODEL, "", label, where.place))
            case _:
                pass
    allowed = [t.label for t in seen if t.label in node.allowed or t.label in asking or "*" in node.allowed]
    effects += [Effect(TaintKind.HUMAN, "", f"a person allows {label}", where.place) for label in allowed]
    outside = any(e.kind in {TaintKind.WORLD, TaintKind.HUMAN} for e in effects)
    unseen_too = any(e.kind is TaintKind.UNKNOWN for e in effects)
    echo = frozenset({Taint(TaintKind.MODEL, "fields", "what the model passed to the tool")})
    said = (
        world("tool", where.name)
        if outside
        else frozenset({Taint(TaintKind.UNKNOWN, "what its tools do")})
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
    asked = frozenset(e for e in effects if e.kind is not TaintKind.HUMAN)
    leaves = bool(seen) and all(t.kind is ToolKind.HANDOFF and all(j.to_parent for j in t.jumps) for t in seen)
    writes = {"messages": write, **({"*": replace(write, always=False)} if jumps else {})}
    return Facts(tuple(effects), asked, writes, jumps, runs_tools=True, leaves=leaves, notes=notes)


# Reads the facts of each node of a graph: its functions are followed once.


def facts_of_graph(reader: Reader, graph: DeclaredGraph) -> dict[str, Facts]:
    """Facts of each node, read once; of a graph that is being read already, none.

    Raises:
        TooComplex: there is more to follow than we are ready to; nothing of it is kept.
    """
    known = reader.facts.get(graph)
    if known is None:
        known = reader.facts[graph] = {}
        try:
            for node in graph.nodes.values():
                known[node.name] = facts_of_node(reader, graph, node)
        except BaseException:
            # facts of some nodes would be taken for those of all
            del reader.facts[graph]
            raise
    return known


def facts_of_node(reader: Reader, graph: DeclaredGraph, node: DeclaredNode) -> Facts:
    """Facts of one node; of one that is too large to follow, that they can't be told."""
    try:
        with reader.share():
            return _facts(reader, graph, node)
    except (RecursionError, TooComplex):
        why = f"too complex: {node.name} is too large to follow"
        effect = Effect(TaintKind.UNKNOWN, why, node.name, node.place)
        unseen: Taints = frozenset({Taint(TaintKind.UNKNOWN, why)})
        facts = Facts((effect,), frozenset({effect}), {"*": Write(unseen, unseen)})
        declared = reader.role_of(graph, node)
        return as_declared(facts, declared, node) if declared else facts


def _facts(reader: Reader, graph: DeclaredGraph, node: DeclaredNode) -> Facts:
    declared = reader.role_of(graph, node)
    match node.action.thing:
        case ToolNodeValue():
            facts = of_tools(reader, node.action.thing, node)
            if graph.kind == "message":
                facts.writes["*"] = facts.writes["messages"]
        case GraphValue(graph=inner):
            facts = of_subgraph(inner, facts_of_graph(reader, inner), node)
        case _:
            facts = _of_action(reader, graph, node)
    return as_declared(facts, declared, node) if declared else facts


def _of_action(reader: Reader, graph: DeclaredGraph, node: DeclaredNode) -> Facts:
    state = state_of(reader, graph)
    entry = node.enter(state) if node.enter is not None else None
    if entry is None:
        frame, outcomes = follow_action(reader, node.action, state, node.name)
    else:
        frame, outcomes = _entered(reader, entry)
    updates: list[dict[str, Write]] = []
    jumps: list[Jump] = []
    for outcome in outcomes:
        for value, formula in options(outcome.value):
            found = all_of([outcome.when, formula])
            _read_value(replace(outcome, value=value, when=found), updates, jumps)
    writes = united(updates)
    if entry is not None:
        state.written.update(entry.left())
    for key, write in read_update(Value(StateValue(written=state.written)), ALWAYS).items():
        # what was changed in place and is not handed back: of a list or dict the state holds the very same one
        writes.setdefault(key, replace(write, always=False))
    return Facts(
        effects=tuple(frame.effects),
        asked=frozenset(frame.asked),
        writes=writes,
        jumps=jumps,
        reads=frozenset(state.read),
        loops=tuple(frame.loops),
        nested=tuple(dict.fromkeys(frame.nested)),
        runs_tools=any(e.kind is TaintKind.WORLD and e.detail == "tool" for e in frame.effects),
    )


def _entered(reader: Reader, entry: Entry) -> tuple[Frame, list[WayOut]]:
    """Follows a node as its framework runs it; what it gives back and sends is put as LangGraph has it."""
    function = entry.action.thing
    assert isinstance(function, FunctionValue)
    inner = body_frame(reader, function, entry.arguments, Frame(function.module, Scope(), function.name, 1))
    for effect in entry.effects:
        inner.effects.setdefault(effect)
        inner.asked.add(effect)
    asked = frozenset(entry.effects)
    sent = [WayOut(value, formula, asked) for value, formula in entry.sent]
    given = [WayOut(r.value, r.when, r.asked | asked) for r in inner.returned]
    return inner, [
        WayOut(entry.gives(value), all_of([way.when, formula]), way.asked)
        for way in (*sent, *given)
        for value, formula in options(way.value)
    ]


def _read_value(outcome: WayOut, updates: list[dict[str, Write]], jumps: list[Jump]) -> None:
    thing = outcome.value.thing
    if isinstance(thing, Items) and any(
        isinstance(i.thing, CommandValue | SendValue) for i in [*thing.items, *([thing.rest] if thing.rest else [])]
    ):
        for item in (*thing.items, *([thing.rest] if thing.rest else [])):
            _read_value(replace(outcome, value=item), updates, jumps)
        return
    if isinstance(thing, CommandValue):
        if thing.goto is not None:
            jumps.append(Jump(thing.goto, outcome.when, thing.to_parent, outcome.asked))
        updates.append(read_update(thing.update, outcome.when) if thing.update is not None else {})
        return
    if isinstance(thing, SendValue):
        jumps.append(Jump(outcome.value, outcome.when, asked=outcome.asked))
        return
    updates.append(read_update(outcome.value, outcome.when))
