"""Workflows of LlamaIndex: a step takes events of some classes, and what it returns or sends calls the next ones."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from groundwire_audit.reading._class_graphs import (
    FIXED,
    KIND,
    Self,
    bound_to,
    class_name_of,
    decorators_of,
    fields_of,
    is_subclass,
    methods_of,
    named_in,
    nothing,
    parameters_of,
    self_of,
)
from groundwire_audit.reading._conditions import ALWAYS, Taint, TaintKind, Taints, Test, when
from groundwire_audit.reading._conditions import key as key_of_state
from groundwire_audit.reading._frames import Arguments, Effect, Frame, merge
from groundwire_audit.reading._graph import END, DeclaredGraph, DeclaredNode
from groundwire_audit.reading._knowledge import words
from groundwire_audit.reading._members import read_key
from groundwire_audit.reading._reader import Entry, Reader
from groundwire_audit.reading._values import (
    NONE,
    ClassValue,
    CommandValue,
    Const,
    External,
    FunctionValue,
    Handle,
    Instance,
    Items,
    StateValue,
    Table,
    Value,
    const,
    data,
)

PACKAGES = words("llama_index workflows llama_index_workflows llama_index_instrumentation")
PERSON: Taints = frozenset({Taint(TaintKind.HUMAN, what="HumanResponseEvent")})


class Workflow:
    """A workflow: which steps take which events.

    Args:
        reader: follows what is met.
        cls: the class.
    """

    def __init__(self, reader: Reader, cls: ClassValue) -> None:
        self._reader = reader
        self._cls = cls
        self._self: Self | None = None
        self._steps = {n: m for n, m in methods_of(cls).items() if "step" in decorators_of(reader, m, PACKAGES)}
        self._takes = {n: self._events(m) for n, m in self._steps.items()}

    def _events(self, step: FunctionValue) -> tuple[str, dict[str, Value]]:
        """The parameter that takes the event, and the classes of events that it takes."""
        for parameter in parameters_of(step):
            named = {class_name_of(v): v for v in named_in(self._reader, step, parameter.annotation) if _is_event(v)}
            if named:
                return parameter.arg, named
        return "", {}

    def declare(self) -> DeclaredGraph:
        """The workflow as a graph."""
        cls = self._cls
        graph = DeclaredGraph(
            cls.node.name, cls.module.place(cls.node), kind=KIND, owner=cls, compiled=True, ends="timeout only"
        )
        graph.aliases.add(cls.node.name)
        for name, step in self._steps.items():
            given = [class_name_of(v) for v in named_in(self._reader, step, getattr(step.node, "returns", None))]
            targets = [t for event in given for t in self._taking(event)]
            ends = [END] if not targets or "StopEvent" in given else []
            node = DeclaredNode(
                name, Value(step), step.module.place(step.node), tuple(dict.fromkeys([*targets, *ends]))
            )
            node.enter = lambda state, name=name: self._enter(name, state)
            graph.nodes[name] = node
        for name, node in graph.nodes.items():
            # events may be sent that no annotation names
            node.destinations = (*(node.destinations or ()), *(t for t in self._sent(name) if t in graph.nodes))
        return graph

    def _sent(self, name: str) -> list[str]:
        """Steps that take what is sent by `ctx.send_event(…)`."""
        step, found = self._steps[name], list[str]()
        for part in ast.walk(step.node):
            match part:
                case ast.Call(func=ast.Attribute(attr="send_event"), args=[ast.Call(func=made), *_]):
                    found += [t for v in named_in(self._reader, step, made) for t in self._taking(class_name_of(v))]
                case _:
                    continue
        return found

    def _taking(self, event: str) -> list[str]:
        """Steps that take an event; what asks a person is answered by an event of another class."""
        taking = [n for n, (_, events) in self._takes.items() if event in events]
        if taking or not event:
            return taking
        asks = any(event == "InputRequiredEvent" or self._asks(event, c) for c in self._classes())
        return (
            [n for n, (_, events) in self._takes.items() if any(_is_answer(v) for v in events.values())] if asks else []
        )

    def _classes(self) -> list[ClassValue | None]:
        found = [
            v.thing for s in self._steps.values() for v in named_in(self._reader, s, getattr(s.node, "returns", None))
        ]
        return [None, *(c for c in found if isinstance(c, ClassValue))]

    def _asks(self, event: str, cls: ClassValue | None) -> bool:
        return cls is not None and cls.node.name == event and is_subclass(cls, "InputRequiredEvent")

    def _enter(self, name: str, state: StateValue) -> Entry:
        if self._self is None:
            self._self = self_of(self._reader, self._cls)
        held, step = self._self, self._steps[name]
        view = held.view({})
        entry = Entry(bound_to(step, view), Arguments(), self._gives, lambda: held.left(view))
        parameter, events = self._takes[name]
        context = self._context(state, entry)
        for one in parameters_of(step):
            if one.arg == parameter:
                entry.arguments.named[one.arg] = _event(name, events)
            elif any(
                class_name_of(v) == "Context" for v in named_in(self._reader, step, one.annotation)
            ) or one.arg in {
                "ctx",
                "context",
            }:
                entry.arguments.named[one.arg] = context
        if events and all(_is_answer(v) for v in events.values()):
            entry.effects = (Effect(TaintKind.HUMAN, "", "HumanResponseEvent", step.module.place(step.node)),)
        return entry

    def _context(self, state: StateValue, entry: Entry) -> Value:
        """`ctx`: it sends events, collects them, and keeps what steps leave to one another."""

        def method(name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
            first = given.get(0, "path", "key", "ev", "message")
            match name:
                case "send_event" if first is not None:
                    entry.sent.append((first, frame.here()))
                    return NONE
                case "get" if first is not None and isinstance(first.thing, Const):
                    return read_key(state, str(first.thing.value))
                case "set" if first is not None and isinstance(first.thing, Const):
                    state.written[str(first.thing.value)] = given.get(1, "value") or nothing()
                    return NONE
                case "collect_events":
                    return _collected(given)
                case "wait_for_event":
                    return _waited(given, node, frame)
                case "get_state" | "edit_state":
                    return Value(state)
                case _:
                    return nothing()

        store = Value(Handle({}, method))
        return Value(Handle({"store": store, "data": Value(state), "state": Value(state)}, method))

    def _gives(self, value: Value) -> Value:
        """What a step returns or sends: the steps that take it run next, with its fields."""
        name = class_name_of(value)
        match value.thing:
            case Const(value=None):
                return NONE
            case Instance(of=cls) if is_subclass(cls, "StopEvent"):
                return Value(CommandValue(const(END), None))
            case External() if name == "StopEvent":
                return Value(CommandValue(const(END), None))
            case Instance() | External() | ClassValue() if self._taking(name):
                steps = [const(t) for t in self._taking(name)]
                return Value(CommandValue(Value(Items("list", list(steps))), Value(Table({name: value}))))
            case Instance() | External():
                return NONE  # nobody takes it: it is shown to whoever runs the workflow
            case _:
                return Value(CommandValue(value, None))


def _is_event(value: Value) -> bool:
    name = class_name_of(value)
    if isinstance(value.thing, ClassValue):
        known = {"Event", "StartEvent", "StopEvent", "HumanResponseEvent", "InputRequiredEvent"}
        return any(is_subclass(value.thing, k) for k in known) or name.endswith("Event")
    return isinstance(value.thing, External) and name.endswith("Event")


def _is_answer(value: Value) -> bool:
    if isinstance(value.thing, ClassValue):
        return is_subclass(value.thing, "HumanResponseEvent")
    return class_name_of(value) == "HumanResponseEvent"


def _event(step: str, events: Mapping[str, Value]) -> Value:
    """The event that a step is given; of several classes each is possible."""
    ways = [
        (_one(name, event), when(Test(FIXED, text=f"{step} is given {name}")) if len(events) > 1 else ALWAYS)
        for name, event in events.items()
    ]
    return merge(ways)


def _one(name: str, event: Value) -> Value:
    if _is_answer(event):
        if isinstance(event.thing, ClassValue):
            return Value(Instance(event.thing, {n: data(PERSON) for n in event.thing.annotations}), PERSON)
        return data(PERSON)
    if isinstance(event.thing, ClassValue):
        if is_subclass(event.thing, "StartEvent"):
            return Value(Instance(event.thing, {n: data(FIXED) for n in event.thing.annotations}), FIXED)
        return Value(Instance(event.thing, fields_of(event.thing, name)))
    path = event.thing.path if isinstance(event.thing, External) else name
    return Value(External(f"{path}()"), FIXED if name == "StartEvent" else key_of_state(name))


def _collected(given: Arguments) -> Value:
    """`ctx.collect_events(ev, [A] * n)`: the events, or None while some are missing."""
    event = given.get(0, "ev")
    there = when(Test(FIXED, text="all events are there"))
    return merge([(Value(Items("list", [], event or nothing())), there)])


def _waited(given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`ctx.wait_for_event(HumanResponseEvent)`: a person answers; an event of another class comes from who runs it."""
    frame.add(Effect(TaintKind.HUMAN, "", "wait_for_event()", frame.module.place(node)))
    return data(PERSON)
