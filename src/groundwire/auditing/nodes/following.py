"""Follows what a node or router runs, with the state as its argument."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from groundwire.auditing.conditions import ALWAYS, Formula
from groundwire.auditing.declared_graph import Graph
from groundwire.auditing.reading.arguments import Arguments
from groundwire.auditing.reading.frames import Effect, Frame
from groundwire.auditing.reading.functions import body_frame
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.source.files import Code
from groundwire.auditing.taints import Kind, Taint
from groundwire.auditing.values import Function, Instance, Module, Partial, Scope, State, Value, data

__all__ = ["Outcome", "follow_action", "function_of", "state_of"]

FIXED = data(frozenset({Taint(Kind.FIXED)}))


GIVEN_BY_LANGGRAPH = frozenset({"config", "store", "writer", "runtime", "previous", "context"})


@dataclass(frozen=True)
class Outcome:
    """One way out of a followed function."""

    value: Value
    when: Formula
    asked: frozenset[Effect]


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
