"""Flows of CrewAI: methods that run when another one has, or when a router has said their word."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from groundwire_audit._report import Finding, Level
from groundwire_audit.reading._class_graphs import (
    KIND,
    Self,
    bound_to,
    decorators_of,
    methods_of,
    parameters_of,
    self_of,
)
from groundwire_audit.reading._conditions import Taint, TaintKind, Test, when
from groundwire_audit.reading._conditions import key as key_of_state
from groundwire_audit.reading._frames import Arguments, Effect, Frame, merge
from groundwire_audit.reading._graph import END, DeclaredEdge, DeclaredGraph, DeclaredNode
from groundwire_audit.reading._knowledge import words
from groundwire_audit.reading._langgraph_calls import read_schema
from groundwire_audit.reading._members import member
from groundwire_audit.reading._reader import Entry, Reader
from groundwire_audit.reading._values import (
    ClassValue,
    CommandValue,
    Const,
    FunctionValue,
    Items,
    Scope,
    StateValue,
    Table,
    Value,
    const,
    data,
)

PACKAGES = words("crewai")
HUMAN = frozenset({Taint(TaintKind.HUMAN, what="human_feedback")})


class Flow:
    """A flow: which methods wait for which word.

    Args:
        reader: follows what is met.
        cls: the class.
    """

    def __init__(self, reader: Reader, cls: ClassValue) -> None:
        self._reader = reader
        self._cls = cls
        self._waiting: dict[str, list[str]] = {}
        self._routers: set[str] = set()
        self._joins: dict[str, tuple[str, ...]] = {}
        self._emits: dict[str, tuple[str, ...]] = {}
        self._selves: list[str] = []
        """Methods that wait for their own name."""
        self._self: Self | None = None
        self._methods: dict[str, FunctionValue] = {}
        for name, method in methods_of(cls).items():
            self._listen(name, method, decorators_of(reader, method, PACKAGES))

    def _listen(self, name: str, method: FunctionValue, decorators: dict[str, Sequence[ast.expr]]) -> None:
        if not {"start", "listen", "router"} & decorators.keys():
            return
        self._methods[name] = method
        for kind, given in decorators.items():
            if kind in {"start", "listen", "router"}:
                for word in (w for argument in given for w in self._words(argument, name)):
                    if word == name:
                        self._selves.append(name)
                        continue
                    self._waiting.setdefault(word, []).append(name)
        if "router" in decorators:
            self._routers.add(name)
        if "human_feedback" in decorators:
            self._emits[name] = self._emitted(method)

    def _words(self, node: ast.expr, name: str) -> list[str]:
        """The words that a method waits for: names of methods, and labels."""
        match node:
            case ast.Call(func=ast.Name(id=joined) | ast.Attribute(attr=joined), args=given) if joined in {
                "or_",
                "and_",
            }:
                found = [w for g in given for w in self._words(g, name)]
                if joined == "and_":
                    self._joins[name] = tuple(found)
                return found
            case ast.Name(id=method) if method in self._cls.members:
                return [method]
            case _:
                value = self._reader.value(node, Frame(self._cls.module, Scope(self._cls.scope), depth=2))
                return _labels(value)

    def _emitted(self, method: FunctionValue) -> tuple[str, ...]:
        for decorator in getattr(method.node, "decorator_list", []):
            for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
                if keyword.arg == "emit":
                    frame = Frame(method.module, Scope(method.scope), depth=2)
                    return tuple(_labels(self._reader.value(keyword.value, frame)))
        return ()

    def declare(self) -> DeclaredGraph:
        """The flow as a graph."""
        cls = self._cls
        graph = DeclaredGraph(
            cls.node.name, cls.module.place(cls.node), kind=KIND, owner=cls, compiled=True, ends="no cap"
        )
        graph.aliases.add(cls.node.name)
        self._read_state(graph)
        graph.findings += [self._runs_itself(name) for name in self._selves]
        labelled = tuple(dict.fromkeys(m for w, held in self._waiting.items() if w not in self._methods for m in held))
        for name, method in self._methods.items():
            routes = name in self._routers or name in self._emits
            place = method.module.place(method.node)
            node = DeclaredNode(name, Value(method), place, (*labelled, END) if routes else None)
            node.enter = lambda state, name=name, method=method: self._enter(name, method, state)
            graph.nodes[name] = node
            following = self._waiting.get(name, [])
            graph.edges += [DeclaredEdge(name, f, place, self._joined(f)) for f in following]
            if not following and not routes:
                graph.edges.append(DeclaredEdge(name, END, place))
        return graph

    def _runs_itself(self, name: str) -> Finding:
        said = (
            f"{name} waits for a word that is its own name: when it ends, it starts again "
            "(versions that refuse this do so when the flow is made). Call the word or the method something else."
        )
        method = self._methods[name]
        return Finding("self-trigger", said, method.module.place(method.node), Level.WARNING)

    def _joined(self, name: str) -> tuple[str, ...]:
        return tuple(w for w in self._joins.get(name, ()) if w in self._methods)

    def _read_state(self, graph: DeclaredGraph) -> None:
        """`Flow[State]`, or `initial_state = State`."""
        for base in self._cls.node.bases:
            if isinstance(base, ast.Subscript):
                frame = Frame(self._cls.module, Scope(self._cls.scope), depth=2)
                read_schema(self._reader.value(base.slice, frame), graph)
        initial = member(self._cls, "initial_state")
        if initial is not None:
            read_schema(initial, graph)

    def _enter(self, name: str, method: FunctionValue, state: StateValue) -> Entry:
        if self._self is None:
            self._self = self_of(self._reader, self._cls)
        held = self._self
        view = held.view({"state": Value(state)})
        before = [w for w, waits in self._waiting.items() if name in waits and w in self._methods]
        before = before or sorted(self._routers)
        given = data(*(key_of_state(f"{b}()") for b in before))
        arguments = Arguments([given] if parameters_of(method) else [])
        asks: tuple[Effect, ...] = ()
        if name in self._emits:
            asks = (Effect(TaintKind.HUMAN, "", "human_feedback", method.module.place(method.node)),)
        return Entry(
            bound_to(method, view), arguments, lambda v: self._gives(name, v), lambda: held.left(view), effects=asks
        )

    def _gives(self, name: str, value: Value) -> Value:
        """What a method returns: for a router the word that others wait for, else what they are given."""
        update = Value(Table({f"{name}()": value}))
        if self._emits.get(name):
            chosen = [
                (self._jump(w, Value(Table({}))), when(Test(HUMAN, text=f"a person says {w!r}", constant=True)))
                for w in self._emits[name]
            ]
            return Value(Items("list", [merge([way]) for way in chosen])) if len(chosen) == 1 else merge(chosen)
        if name not in self._routers:
            return update
        match value.thing:
            case Const(value=str(word)):
                return self._jump(word, update)
            case Const():
                return Value(CommandValue(const(END), update))
            case _:
                return Value(CommandValue(value, update))

    def _jump(self, word: str, update: Value) -> Value:
        waiting = [const(m) for m in self._waiting.get(word, [])]
        return Value(CommandValue(Value(Items("list", list(waiting))) if waiting else const(END), update))


def _labels(value: Value) -> list[str]:
    match value.thing:
        case Const(value=str(word)):
            return [word]
        case FunctionValue(name=name):
            return [name]
        case Items(items=held):
            return [w for i in held for w in _labels(i)]
        case _:
            return []
