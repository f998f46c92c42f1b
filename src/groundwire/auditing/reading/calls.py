"""What a call gives, by what is called."""

from __future__ import annotations

import ast

from groundwire.auditing.declared_graph import GraphValue
from groundwire.auditing.reading.arguments import Arguments
from groundwire.auditing.reading.externals import call_external
from groundwire.auditing.reading.frames import Effect, Frame
from groundwire.auditing.reading.functions import call_function
from groundwire.auditing.reading.graph_methods import graph_method
from groundwire.auditing.reading.instances import create_instance, instance_method
from groundwire.auditing.reading.merging import deep, merge, text_of
from groundwire.auditing.reading.methods import data_method, state_method
from groundwire.auditing.reading.models import call_model, model_method
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.taints import Kind, reason
from groundwire.auditing.values import (
    Bound,
    Chain,
    Choice,
    Class,
    Const,
    External,
    Function,
    Instance,
    Model,
    Partial,
    State,
    Tool,
    ToolNode,
    Value,
    unknown,
)

__all__ = ["call_value"]


def call_value(reader: Reader, callee: Value, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """Follows a call."""
    match callee.thing:
        case Function():
            return call_function(reader, callee.thing, given, frame)
        case Partial(function=function, arguments=first, named=named):
            both = Arguments([*first, *given.positional], {**dict(named), **given.named}, given.more)
            return reader.call(function, both, node, frame)
        case Class():
            return create_instance(reader, callee, given, node, frame)
        case Instance():
            return reader.call(reader.attribute(callee, "__call__", frame), given, node, frame)
        case External(path=path):
            return call_external(reader, path, callee, given, node, frame)
        case Bound():
            return _bound(reader, callee.thing, given, node, frame)
        case Model() | Chain() | Tool() | ToolNode():
            return call_model(reader, callee, given, node, frame)
        case Choice(options=choices):
            callable_ones = [(v, f) for v, f in choices if not isinstance(v.thing, Const)]
            return merge([(reader.call(v, given, node, frame), f) for v, f in callable_ones])
        case _:
            return _unknown(callee, node, frame)


def _bound(reader: Reader, bound: Bound, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    owner, name = bound.owner, bound.name
    match owner.thing:
        case GraphValue():
            return graph_method(reader, owner, name, given, node, frame)
        case Model() | Chain() | Tool() | ToolNode() | Function() | Partial():
            return model_method(reader, owner, name, given, node, frame)
        case Instance() | Class():
            return instance_method(reader, owner, name, given, node, frame)
        case State():
            return state_method(owner, name, given, frame)
        case _:
            return data_method(reader, owner, name, given, node, frame)


def _unknown(callee: Value, node: ast.AST, frame: Frame) -> Value:
    name = text_of(node.func) if isinstance(node, ast.Call) else text_of(node)
    why = reason(deep(callee)) or f"{name} is handed in"
    frame.add(Effect(Kind.UNKNOWN, why, name, frame.module.place(node)))
    return unknown(why)
