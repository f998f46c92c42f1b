"""Follows a call into a function whose source is at hand."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from groundwire.auditing.conditions import ALWAYS, all_of
from groundwire.auditing.reading.annotations import stand_in
from groundwire.auditing.reading.arguments import Arguments
from groundwire.auditing.reading.attributes import member
from groundwire.auditing.reading.frames import Effect, Frame, Returned
from groundwire.auditing.reading.merging import control, deep, merge
from groundwire.auditing.scopes import Scope
from groundwire.auditing.taints import Kind, world
from groundwire.auditing.values import NONE, Const, Function, Instance, Items, Table, Value, data

if TYPE_CHECKING:
    from groundwire.auditing.reading.reader import Reader

__all__ = ["body_frame", "call_function", "parameters"]

MAX_SAME = 2


def call_function(reader: Reader, function: Function, given: Arguments, frame: Frame) -> Value:
    """What the call gives; what it asks is asked in `frame`."""
    if reader.stack.count(function.node) >= MAX_SAME:
        return data(given.taints())
    inner = body_frame(reader, function, given, frame)
    frame.absorb(inner.effects, inner.asked)
    frame.loops += [x for x in inner.loops if x.place not in {y.place for y in frame.loops}]
    frame.nested += inner.nested
    frame.risks |= inner.risks
    if _is_environment_step(function):
        frame.add(Effect(Kind.WORLD, "env", f"{function.name}()", function.module.place(function.node)))
        return data(world("env", function.name))
    if inner.yielded:
        return Value(Items("list", [], data(*(deep(v) for v in inner.yielded))))
    return _result(inner)


def _is_environment_step(function: Function) -> bool:
    """The step of an environment: a class that can be reset and stepped, whoever wrote it."""
    holder = function.bound.thing if function.bound is not None else None
    return function.name == "step" and isinstance(holder, Instance) and member(holder.of, "reset") is not None


def _result(inner: Frame) -> Value:
    ways = [(_chosen(r), r.when) for r in inner.returned]
    return merge(ways) if ways else NONE


def _chosen(returned: Returned) -> Value:
    value = returned.value
    return value.with_taints(control(returned.when)) if isinstance(value.thing, Const) else value


def body_frame(reader: Reader, function: Function, given: Arguments, frame: Frame) -> Frame:
    """Follows a function's body with these arguments."""
    reader.called.add(function.node)
    scope = Scope(function.scope)
    inner = Frame(function.module, scope, function.name, frame.depth + 1)
    inner.asked = set()
    _bind(reader, function, given, inner)
    reader.stack.append(function.node)
    try:
        node = function.node
        if isinstance(node, ast.Lambda):
            value = reader.value(node.body, inner)
            inner.returned.append(Returned(value, ALWAYS, frozenset(inner.asked), function.module.place(node)))
        elif reader.run(node.body, inner):
            inner.returned.append(
                Returned(NONE, all_of(inner.conditions), frozenset(inner.asked), function.module.place(node))
            )
    finally:
        reader.stack.pop()
    outs = [r.asked for r in inner.returned]
    inner.asked = set(frozenset[Effect].intersection(*outs)) if outs else inner.asked
    return inner


def parameters(function: Function) -> list[ast.arg]:
    """Positional parameters, without a bound `self`."""
    arguments = function.node.args
    found = [*arguments.posonlyargs, *arguments.args]
    return found[1:] if function.bound is not None else found


def _bind(reader: Reader, function: Function, given: Arguments, inner: Frame) -> None:
    arguments = function.node.args
    everything = [*arguments.posonlyargs, *arguments.args]
    values = [*([function.bound] if function.bound is not None else []), *given.positional]
    for parameter, value in zip(everything, values, strict=False):
        inner.scope.put(parameter.arg, value)
    left = dict(given.named)
    for parameter in (*everything[len(values) :], *arguments.kwonlyargs):
        if parameter.arg in left:
            inner.scope.put(parameter.arg, left.pop(parameter.arg))
        elif given.more is not None:
            inner.scope.put(parameter.arg, given.more)
        elif parameter.arg in function.defaults:
            inner.scope.put(parameter.arg, function.defaults[parameter.arg])
        else:
            inner.scope.put(parameter.arg, stand_in(reader, function, parameter, inner))
    if arguments.vararg is not None:
        extra = values[len(everything) :]
        inner.scope.put(arguments.vararg.arg, Value(Items("tuple", extra, given.more)))
    if arguments.kwarg is not None:
        inner.scope.put(arguments.kwarg.arg, Value(Table({**left}, given.more)))
