"""Destinations that a router or node declares in its annotation."""

from __future__ import annotations

import ast

from groundwire.auditing.nodes.following import function_of
from groundwire.auditing.reading.frames import Frame
from groundwire.auditing.reading.graph_methods import name_of
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.values import Function, Items, Scope, Value

__all__ = ["annotated", "literal_names"]


def annotated(reader: Reader, router: Value) -> dict[object, str] | None:
    """Label → node of a router's `Literal[…]`; None where it has none."""
    function, _, _ = function_of(reader, router, Frame(reader.nowhere, Scope(), depth=2))
    names = literal_names(reader, function, getattr(function.node, "returns", None)) if function is not None else None
    return {n: n for n in names} if names is not None else None


def literal_names(reader: Reader, function: Function | None, annotation: ast.expr | None) -> list[str] | None:
    """The names in `Literal[…]`, also inside `Command[…]`; None where there is none."""
    if function is None or annotation is None:
        return None
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return None
    if not isinstance(annotation, ast.Subscript):
        return None
    outer = annotation.value
    name = outer.attr if isinstance(outer, ast.Attribute) else outer.id if isinstance(outer, ast.Name) else ""
    if name == "Command":
        return literal_names(reader, function, annotation.slice)
    if name != "Literal":
        return None
    inner = annotation.slice
    frame = Frame(function.module, Scope(function.scope), depth=2)
    value = reader.value(inner if isinstance(inner, ast.Tuple) else ast.Tuple([inner], ast.Load()), frame)
    if not isinstance(value.thing, Items) or value.thing.rest is not None:
        return None
    return [name_of(i, "?") for i in value.thing.items]
