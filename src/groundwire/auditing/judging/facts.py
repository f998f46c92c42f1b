"""What one node asks, reads, writes, and where it may jump: its functions are followed once."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from groundwire.auditing.conditions import ALWAYS, Formula, Test, all_of, when
from groundwire.auditing.judging.updates import Write, read_update, united
from groundwire.auditing.reading.arguments import Arguments
from groundwire.auditing.reading.frames import Effect, Frame, SeenLoop
from groundwire.auditing.reading.functions import body_frame
from groundwire.auditing.reading.merging import options
from groundwire.auditing.reading.tools import ToolKind, inspect_tool
from groundwire.auditing.source.files import Code
from groundwire.auditing.source.modules import Module
from groundwire.auditing.taints import Kind, Taint, Taints
from groundwire.auditing.values import (
    Command,
    Function,
    GraphValue,
    Instance,
    Items,
    Partial,
    Scope,
    Send,
    State,
    ToolNode,
    Value,
    data,
    world,
)
from groundwire.auditing.wiring import Graph, Node

if TYPE_CHECKING:
    from groundwire.auditing.reading.reader import Reader

__all__ = ["Facts", "Jump", "Outcome", "facts_of_graph", "follow_action", "function_of"]

FIXED = data(frozenset({Taint(Kind.FIXED)}))
GIVEN_BY_LANGGRAPH = frozenset({"config", "store", "writer", "runtime", "previous", "context"})
ASK = frozenset({Taint(Kind.ASK)})


@dataclass(frozen=True)
class Jump:
    """A jump out of a node. `target`: a node's name as a value; `when`: reads the state from before the node ran."""

    target: Value
    when: Formula
    to_parent: bool = False
    asked: frozenset[Effect] = frozenset()


@dataclass(frozen=True)
class Outcome:
    """One way out of a followed function."""

    value: Value
    when: Formula
    asked: frozenset[Effect]


@dataclass
class Facts:
    """What reading a node found.

    Args:
        effects: all that may be asked.
        asked: what is asked on every way through.
        writes: state keys; `*` where the keys are not known.
        jumps: jumps by `Command`.
        loops: loops in its source that hold a model call.
        nested: graphs that run inside.
        declared: the role that was declared for it, or empty.
        runs_tools: it runs the tools that a model asked for.
    """

    effects: tuple[Effect, ...] = ()
    asked: frozenset[Effect] = frozenset()
    writes: dict[str, Write] = field(default_factory=dict[str, Write])
    jumps: list[Jump] = field(default_factory=list[Jump])
    reads: frozenset[str] = frozenset()
    loops: tuple[SeenLoop, ...] = ()
    nested: tuple[Graph, ...] = ()
    declared: str = ""
    runs_tools: bool = False
    leaves: bool = False
    """It always hands over to the graph around it."""
    notes: tuple[str, ...] = ()

    def has(self, kind: Kind) -> bool:
        """True if something of this kind may be asked."""
        return any(e.kind is kind for e in self.effects)

    def surely(self, kind: Kind) -> bool:
        """True if something of this kind is asked on every way through."""
        return any(e.kind is kind for e in self.asked)


def facts_of_graph(reader: Reader, graph: Graph) -> dict[str, Facts]:
    """Facts of each node, read once; of a graph that is being read already, none."""
    known = reader.facts.get(graph)
    if known is None:
        known = {}
        reader.facts[graph] = known
        for node in graph.nodes.values():
            known[node.name] = _facts(reader, graph, node)
    return known


def _facts(reader: Reader, graph: Graph, node: Node) -> Facts:
    declared = reader.role_of(graph, node)
    match node.action.thing:
        case ToolNode():
            facts = _of_tools(reader, node.action.thing, node)
            if graph.kind == "message":
                facts.writes["*"] = facts.writes["messages"]
        case GraphValue(graph=inner):
            facts = _of_subgraph(reader, inner, node)
        case _:
            facts = _of_action(reader, graph, node)
    return as_declared(facts, declared, node) if declared else facts


def follow_action(reader: Reader, action: Value, state: State, name: str) -> tuple[Frame, list[Outcome]]:
    """Follows what a node or router runs, with the state as its argument."""
    frame = Frame(_module_of(action), Scope(), name, 1)
    function, first, named = function_of(reader, action, frame)
    if function is None:
        value = reader.call(action, Arguments([Value(state)]), ast.Pass(), frame)
        return frame, [Outcome(value, ALWAYS, frozenset(frame.asked))]
    arguments = function.node.args
    given = {
        a.arg: FIXED
        for a in (*arguments.args, *arguments.kwonlyargs)
        if a.arg in GIVEN_BY_LANGGRAPH and a.arg not in named
    }
    positional = [*first, Value(state)] if _takes_state(function, first, named) else list(first)
    inner = body_frame(reader, function, Arguments(positional, {**given, **named}), frame)
    return inner, [Outcome(r.value, r.when, r.asked) for r in inner.returned]


def _takes_state(function: Function, first: tuple[Value, ...], named: dict[str, Value]) -> bool:
    arguments = function.node.args
    places = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    free = places[len(first) + (1 if function.bound is not None else 0) :]
    return bool(free or arguments.vararg) and not (free and free[0] in named)


def function_of(
    reader: Reader, action: Value, frame: Frame
) -> tuple[Function | None, tuple[Value, ...], dict[str, Value]]:
    """The function that an action comes down to, with arguments that are already given."""
    match action.thing:
        case Function():
            return action.thing, (), {}
        case Partial(function=inner, arguments=first, named=named):
            function, more, others = function_of(reader, inner, frame)
            return function, (*more, *first), {**others, **dict(named)}
        case Instance():
            call = reader.attribute(action, "__call__", frame)
            if not isinstance(call.thing, Function):
                call = reader.attribute(action, "invoke", frame)
            return (call.thing if isinstance(call.thing, Function) else None), (), {}
        case _:
            return None, (), {}


def _module_of(action: Value) -> Module:
    match action.thing:
        case Function(module=module):
            return module
        case Partial(function=inner):
            return _module_of(inner)
        case Instance(of=cls):
            return cls.module
        case _:
            return Module("", Code(Path(), "", ast.Module([], [])))


def state_of(reader: Reader, graph: Graph) -> State:
    """The state as a node of this graph sees it."""
    schema = graph.schema_value
    module = getattr(schema.thing, "module", None) if schema is not None else None
    scope = getattr(schema.thing, "scope", None) if schema is not None else None
    if not isinstance(module, Module):
        return State(graph.schema)
    frame = Frame(module, Scope(scope), "", 2)
    return State(graph.schema, resolve=lambda annotation: reader.value(annotation, frame))


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


def _of_tools(reader: Reader, node: ToolNode, where: Node) -> Facts:
    if node.tools is None:
        effect = Effect(Kind.UNKNOWN, node.why or "its tools are not in sight", "tools", where.place)
        unseen: Taints = frozenset({Taint(Kind.UNKNOWN, effect.detail)})
        return Facts((effect,), frozenset({effect}), {"messages": Write(unseen, unseen)}, runs_tools=True)
    seen = [inspect_tool(reader, reader.declared_tool(t)) for t in node.tools]
    effects: list[Effect] = []
    for tool in seen:
        label = f"{tool.label}: {tool.why}" if tool.label else tool.why
        match tool.kind:
            case ToolKind.WORLD:
                effects.append(Effect(Kind.WORLD, "tool", label, where.place))
            case ToolKind.HUMAN:
                effects.append(Effect(Kind.HUMAN, "", label, where.place))
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


def _of_subgraph(reader: Reader, inner: Graph, node: Node) -> Facts:
    from groundwire.auditing.judging.passing import surely_passed

    facts = facts_of_graph(reader, inner)
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

    kept = without(write.taints) | flattened(write.taints)
    return Write(kept, without(write.last) | flattened(write.last), write.always)


def flattened(taints: Taints) -> Taints:
    """Sources of the comparisons among these, without the keys of the state."""
    found: set[Taint] = set()
    for taint in taints:
        if taint.test is not None:
            inner = taint.test.taints
            found |= {t for t in inner if t.kind not in {Kind.KEY, Kind.LAST, Kind.LENGTH, Kind.COMPARE}} | flattened(
                inner
            )
    return frozenset(found)


def as_declared(facts: Facts, role: str, node: Node) -> Facts:
    """What was read, with the declared role in place of what is asked."""
    kind, said = ROLES[role]
    effect = Effect(kind, "tool", f"{node.name} (declared {role})", node.place) if kind is not None else None
    taints: Taints = (
        frozenset({Taint(said, "tool" if said is Kind.WORLD else "text", "declared")})
        if said is not None
        else frozenset()
    )
    keys = facts.writes or {"*": Write(taints, taints)}
    writes = {k: Write(taints, taints, w.always) if said is not None else w for k, w in keys.items()}
    effects = (effect,) if effect is not None else ()
    return replace(facts, effects=effects, asked=frozenset(effects), writes=writes, declared=role)


ROLES: dict[str, tuple[Kind | None, Kind | None]] = {
    "actor": (Kind.MODEL, Kind.MODEL),
    "critic": (Kind.MODEL, Kind.MODEL),
    "model": (Kind.MODEL, Kind.MODEL),
    "tool": (Kind.WORLD, Kind.WORLD),
    "world": (Kind.WORLD, Kind.WORLD),
    "human": (Kind.HUMAN, Kind.HUMAN),
    "pure": (None, None),
}
