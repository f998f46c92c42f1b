"""What the parts of reading ask of the reader that brings them together, and what is known of a node once read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

from groundwire_audit._report import SourcePlace
from groundwire_audit.reading._conditions import NOTHING, Formula, Taint, TaintKind, Taints
from groundwire_audit.reading._frames import Arguments, Effect, Frame, SeenLoop, control, deep, is_asked, options
from groundwire_audit.reading._graph import DeclaredGraph, DeclaredNode
from groundwire_audit.reading._modules import ModuleFinder
from groundwire_audit.reading._values import Choice, Const, Instance, Items, Module, StateValue, Table, Value

# What a node's return value writes into the state.


@dataclass
class Write:
    """A key that is written.

    Args:
        taints: what all of the new value rests on.
        last: what its last item rests on, where it is a list.
        always: on every way through.
        parts: of a dict or object with known keys: what each of them rests on.
        rest: of such a one: what its other keys rest on; None: it has no others.
        persons_or_nothing: what a person said, or None or empty where nobody was asked.
    """

    taints: Taints
    last: Taints
    always: bool = True
    parts: Mapping[str, Write] | None = None
    rest: Taints | None = None
    constant: Const | None = None
    persons_or_nothing: bool = False
    """The constant that it always is."""

    def part(self, path: str, name: str) -> Write:
        """What a key of it rests on.

        Args:
            path: the key of the state under which all of it is.
            name: the key inside.
        """
        if self.parts is not None and name in self.parts:
            return self.parts[name]
        if self.parts is None:
            return Write(_inside(self.taints, path, name), _inside(self.last, path, name), self.always)
        others = _inside(self.rest or NOTHING, path, name)
        return Write(others, others, self.always)


def _inside(taints: Taints, path: str, name: str) -> Taints:
    """What was all of `path` before is, for one of its keys, that key before."""
    return frozenset(
        Taint(TaintKind.KEY, f"{path}.{name}") if t.kind is TaintKind.KEY and t.detail == path else t for t in taints
    )


def read_update(value: Value, when: Formula) -> dict[str, Write]:
    """The keys that a returned value writes."""
    match value.thing:
        case Table(entries=entries, rest=rest):
            found = {str(k): _write(v, when) for k, v in entries.items() if not _unchanged(str(k), v)}
            if rest is not None and deep(rest):
                found["*"] = Write(deep(rest), deep(rest), always=False)
            return found
        case StateValue(written=written):
            return {k: _write(v, when) for k, v in written.items() if not _unchanged(k, v)}
        case Instance(attributes=attributes):
            return {k: _write(v, when) for k, v in attributes.items() if not _unchanged(k, v)}
        case Const(value=None):
            return {}
        case Choice():
            return united([read_update(v, when) for v, _ in options(value)])
        case _:
            return {"*": _write(value, when)}


def _unchanged(key: str, value: Value) -> bool:
    return value.taints == frozenset({Taint(TaintKind.KEY, key)}) and deep(value) == value.taints


MAX_PARTS = 2


def _write(value: Value, when: Formula, depth: int = 0) -> Write:
    taints = deep(value)
    if isinstance(value.thing, Const) or (not taints and isinstance(value.thing, Items)):
        taints |= control(when)
    made = Write(taints, _last(value, taints), constant=value.thing if isinstance(value.thing, Const) else None)
    made.persons_or_nothing = all(_is_persons_or_nothing(option) for option, _ in options(value))
    match value.thing:
        case Table(entries=entries, rest=rest) if entries and depth < MAX_PARTS:
            made.parts = {str(k): _write(v, when, depth + 1) for k, v in entries.items()}
            made.rest = deep(rest) if rest is not None else None
        case Instance(attributes=attributes) if attributes and depth < MAX_PARTS:
            made.parts = {k: _write(v, when, depth + 1) for k, v in attributes.items()}
            made.rest = NOTHING
        case _:
            pass
    return made


def _is_persons_or_nothing(value: Value) -> bool:
    if isinstance(value.thing, Const):
        return not value.thing.value
    return any(t.kind is TaintKind.HUMAN for t in value.taints)


def _last(value: Value, taints: Taints) -> Taints:
    match value.thing:
        case Items(items=held) if held:
            return deep(held[-1])
        case _:
            return taints


def united(updates: Sequence[dict[str, Write]]) -> dict[str, Write]:
    """All that may be written, and whether it always is."""
    made: dict[str, Write] = {}
    for name in dict.fromkeys(k for u in updates for k in u):
        parts = [u[name] for u in updates if name in u]
        made[name] = Write(
            frozenset[Taint]().union(*(p.taints for p in parts)),
            frozenset[Taint]().union(*(p.last for p in parts)),
            len(parts) == len(updates) and all(p.always for p in parts),
            *_common(name, parts),
            parts[0].constant if all(p.constant == parts[0].constant for p in parts) else None,
            all(p.persons_or_nothing for p in parts),
        )
    return made


def _common(path: str, writes: Sequence[Write]) -> tuple[Mapping[str, Write] | None, Taints | None]:
    """Keys inside of what may be written, where each of the values has known ones."""
    if any(w.parts is None for w in writes):
        return None, None
    names = dict.fromkeys(n for w in writes for n in w.parts or ())
    rests = [w.rest for w in writes if w.rest is not None]
    return (
        {n: united([{n: w.part(path, n)} for w in writes])[n] for n in names},
        frozenset[Taint]().union(*rests) if rests else None,
    )


# What is known of one node once it was read.


@dataclass(frozen=True)
class Jump:
    """A jump out of a node. `target`: a node's name as a value; `when`: reads the state from before the node ran."""

    target: Value
    when: Formula
    to_parent: bool = False
    asked: frozenset[Effect] = frozenset()


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
    nested: tuple[DeclaredGraph, ...] = ()
    declared: str = ""
    runs_tools: bool = False
    leaves: bool = False
    """It always hands over to the graph around it."""
    notes: tuple[str, ...] = ()

    def has(self, kind: TaintKind) -> bool:
        """True if something of this kind may be asked."""
        return is_asked(self.effects, kind)

    def surely(self, kind: TaintKind) -> bool:
        """True if something of this kind is asked on every way through."""
        return is_asked(self.asked, kind)


def nothing_left() -> dict[str, Value]:
    """A node that leaves nothing on the object that it runs on."""
    return {}


@dataclass
class Entry:
    """How a framework other than LangGraph runs a node.

    Args:
        action: what runs, bound to the object that it runs on.
        arguments: what it is given.
        gives: what a thing that it gives back or sends means: jumps and updates, as LangGraph has them.
        left: keys of the state that it has left on its object, read once it has run.
        sent: what it sent on the way, each with when.
        effects: what the framework asks before it runs.
    """

    action: Value
    arguments: Arguments
    gives: Callable[[Value], Value]
    left: Callable[[], Mapping[str, Value]] = nothing_left
    sent: list[tuple[Value, Formula]] = field(default_factory=list[tuple[Value, Formula]])
    effects: tuple[Effect, ...] = ()


# What the parts of reading ask of the reader that brings them together.


class TooComplex(Exception):
    """There is more to follow than we are ready to."""


class Lifter(Protocol):
    """Turns live objects into values."""

    def lift(self, thing: object) -> Value:
        """The value of an object."""
        ...


class Reader(Protocol):
    """Follows expressions, statements and calls; each part gets it, and asks it for whatever is another part's."""

    finder: ModuleFinder
    nowhere: Module
    """Where a value that stands in no file is followed."""
    graphs: list[DeclaredGraph]
    """Those that were declared so far."""
    stack: list[ast.AST]
    """The functions that are being followed, the outermost first."""
    called: set[ast.AST]
    """Functions that were followed with real arguments."""
    seen: dict[SourcePlace, SeenLoop]
    """Each loop with a model call that was followed, wherever from."""
    facts: dict[DeclaredGraph, dict[str, Facts]]
    """Those that were read so far; see `facts_of`."""
    live: Lifter | None
    """Looks up modules that are imported already, where live objects are audited."""

    def step(self) -> None:
        """Counts one expression or statement.

        Raises:
            TooComplex: the budget is used up.
        """
        ...

    def share(self) -> AbstractContextManager[None]:
        """A part of the work, with a budget of its own."""
        ...

    def run(self, body: Sequence[ast.stmt], frame: Frame) -> bool:
        """Follows statements; False if none after them is reached."""
        ...

    def value(self, node: ast.expr, frame: Frame) -> Value:
        """What an expression stands for."""
        ...

    def truth(self, node: ast.expr, frame: Frame) -> Formula:
        """When an expression counts as true."""
        ...

    def call(self, callee: Value, arguments: Arguments, node: ast.AST, frame: Frame) -> Value:
        """What a call gives."""
        ...

    def attribute(self, owner: Value, name: str, frame: Frame) -> Value:
        """What an attribute stands for."""
        ...

    def facts_of(self, graph: DeclaredGraph) -> Mapping[str, Facts]:
        """Facts of each node of a graph, read once; of a graph that is being read already, none."""
        ...

    def read_module(self, module: Module) -> None:
        """Follows a module's statements, once; in a circle of imports, what is there so far counts."""
        ...

    def import_module(self, dotted: str, importer: Module, level: int = 0) -> Module | None:
        """The followed module under a name, or None for a library."""
        ...

    def role_of(self, graph: DeclaredGraph, node: DeclaredNode) -> str:
        """The role that was declared for a node: by name, or in a comment beside it or its function; else empty."""
        ...

    def role_of_tool(self, name: str) -> str:
        """The role that was declared for a tool by its name, or empty."""
        ...


# Roles that were declared for a node, in place of what was read.


def as_declared(facts: Facts, role: str, node: DeclaredNode) -> Facts:
    """What was read, with the declared role in place of what is asked."""
    kind, said = ROLES[role]
    effect = Effect(kind, "tool", f"{node.name} (declared {role})", node.place) if kind is not None else None
    taints: Taints = (
        frozenset({Taint(said, "tool" if said is TaintKind.WORLD else "text", "declared")})
        if said is not None
        else frozenset()
    )
    keys = facts.writes or {"*": Write(taints, taints)}
    writes = {k: Write(taints, taints, w.always) if said is not None else w for k, w in keys.items()}
    effects = (effect,) if effect is not None else ()
    return replace(facts, effects=effects, asked=frozenset(effects), writes=writes, declared=role)


ROLES: dict[str, tuple[TaintKind | None, TaintKind | None]] = {
    "actor": (TaintKind.MODEL, TaintKind.MODEL),
    "critic": (TaintKind.MODEL, TaintKind.MODEL),
    "model": (TaintKind.MODEL, TaintKind.MODEL),
    "tool": (TaintKind.WORLD, TaintKind.WORLD),
    "world": (TaintKind.WORLD, TaintKind.WORLD),
    "human": (TaintKind.HUMAN, TaintKind.HUMAN),
    "pure": (None, None),
}
