"""Follows a call into a function whose source is at hand, going by annotations where no argument is in sight."""

from __future__ import annotations

import ast

from groundwire.auditing.conditions import ALWAYS, all_of
from groundwire.auditing.knowledge.lookup import class_name, describe
from groundwire.auditing.reading.arguments import Arguments
from groundwire.auditing.reading.attributes import bases, member
from groundwire.auditing.reading.frames import Effect, Frame, Returned
from groundwire.auditing.reading.merging import control, deep, merge
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.taints import Kind, Taint, world
from groundwire.auditing.values import (
    NONE,
    Class,
    Const,
    External,
    Function,
    Instance,
    Items,
    Model,
    Scope,
    Table,
    Value,
    data,
    external,
    unknown,
)
from groundwire.auditing.words import words

__all__ = ["body_frame", "call_function", "of_annotation", "parameters", "stand_in"]

# What a parameter or attribute is, going by its annotation, where no argument is in sight.

FIXED = frozenset({Taint(Kind.FIXED)})
DATA = words(
    """
    str int float bool bytes dict list tuple set None date datetime Path Dict List Tuple Set Sequence Iterable
    Mapping Literal object
    """
)
WRAPPERS = frozenset({"Optional", "Annotated", "Required", "NotRequired", "Union", "Final"})
ABSTRACT = frozenset({"Protocol", "ABC", "ABCMeta", "Generic"})
MODELS = frozenset({"BaseChatModel", "BaseLanguageModel", "BaseLLM", "LLM"})


def stand_in(reader: Reader, function: Function, parameter: ast.arg, frame: Frame) -> Value:
    """A parameter whose argument is not in sight: what its annotation promises, else unknown."""
    annotation = parameter.annotation
    if annotation is None:
        default = function.defaults.get(parameter.arg)
        if default is not None and isinstance(default.thing, Const) and default.thing.value is not None:
            return data(frozenset({Taint(Kind.FIXED)}))
        return unknown(f"argument {parameter.arg} of {function.name} is not in sight")
    return of_annotation(reader, annotation, f"argument {parameter.arg} of {function.name}", frame)


def of_annotation(reader: Reader, annotation: ast.expr, what: str, frame: Frame) -> Value:
    """What something is, going by its annotation; unknown where that does not say."""
    hidden = unknown(f"{what} is not in sight")
    match annotation:
        case ast.Constant(value=str(text)):
            try:
                return of_annotation(reader, ast.parse(text, mode="eval").body, what, frame)
            except (SyntaxError, ValueError):
                return hidden
        case ast.BinOp(op=ast.BitOr(), left=left):
            return of_annotation(reader, left, what, frame)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            if name in WRAPPERS:
                first = inner.elts[0] if isinstance(inner, ast.Tuple) and inner.elts else inner
                return of_annotation(reader, first, what, frame)
            return data(FIXED) if name in DATA else hidden
        case ast.Name(id=name) if name in DATA:
            return data(FIXED)
        case ast.Name() | ast.Attribute():
            return _of_class(reader.value(annotation, frame), hidden)
        case _:
            return hidden


def _of_class(meant: Value, hidden: Value) -> Value:
    match meant.thing:
        case External(path=path):
            known = describe(path)
            if known.kind == "model" or class_name(path) in MODELS:
                return Value(Model(class_name(path)))
            if known.kind in {"world", "human", "fixed"} or path.startswith(
                ("builtins", "langchain_core.messages", "langgraph")
            ):
                return external(f"{path}()", FIXED)
            return hidden
        case Class() if not any(
            isinstance(b.thing, External) and ABSTRACT.intersection(b.thing.path.split(".")) for b in bases(meant.thing)
        ):
            return Value(Instance(meant.thing), FIXED)
        case _:
            return hidden


# Follows a call into a function whose source is at hand.

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
