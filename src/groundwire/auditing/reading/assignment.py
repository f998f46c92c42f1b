"""Assigning to names, attributes, keys and several targets at once."""

from __future__ import annotations

import ast

from groundwire.auditing.reading.containers import of_key, shrunk
from groundwire.auditing.reading.frames import Frame
from groundwire.auditing.reading.merging import control, deep
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.values import Const, Instance, Items, Opaque, State, Table, Value, const, data

__all__ = ["assign", "chosen_here", "set_attribute", "set_key"]


def chosen_here(value: Value, frame: Frame) -> Value:
    """A constant that is stored rests on the conditions under which it is."""
    return value.with_taints(control(frame.here())) if isinstance(value.thing, Const) and frame.conditions else value


def assign(reader: Reader, target: ast.expr, value: Value, frame: Frame) -> None:
    """`target = value`."""
    match target:
        case ast.Name(id=name):
            if name in frame.globals and frame.scope.outer is not None:
                _outermost(frame, name, value)
            frame.scope.put(name, value)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            _unpack(reader, elements, value, frame)
        case ast.Starred(value=inner):
            assign(reader, inner, value, frame)
        case ast.Attribute(value=owner, attr=name):
            holder = reader.value(owner, frame)
            set_attribute(holder, name, value, frame)
            if isinstance(holder.thing, Opaque) and isinstance(owner, ast.Name):
                frame.scope.put(owner.id, holder.with_taints(deep(value)))
        case ast.Subscript(value=owner, slice=key):
            holder = reader.value(owner, frame)
            name = reader.value(key, frame)
            if not set_key(holder, name, value, frame) and isinstance(owner, ast.Name):
                frame.scope.put(owner.id, holder.with_taints(deep(value)))
        case _:
            pass


def _outermost(frame: Frame, name: str, value: Value) -> None:
    place = frame.scope.outer
    while place is not None and place.get(name) is not None:
        place.put(name, value)
        return


def _unpack(reader: Reader, targets: list[ast.expr], value: Value, frame: Frame) -> None:
    starred = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
    known = value.thing if isinstance(value.thing, Items) and value.thing.rest is None else None
    if known is not None and starred is None and len(known.items) == len(targets):
        for target, item in zip(targets, known.items, strict=True):
            assign(reader, target, item.with_taints(value.taints), frame)
        return
    for i, target in enumerate(targets):
        if isinstance(target, ast.Starred):
            assign(reader, target, shrunk(value), frame)
        else:
            assign(reader, target, of_key(value, const(i)), frame)


def set_attribute(holder: Value, name: str, value: Value, frame: Frame) -> None:
    """`holder.name = value`."""
    match holder.thing:
        case Instance(attributes=attributes):
            attributes[name] = chosen_here(value, frame)
        case State(written=written):
            written[name] = chosen_here(value, frame)
        case _:
            pass


def set_key(holder: Value, key: Value, value: Value, frame: Frame) -> bool:
    """`holder[key] = value`; False if the holder can't keep it."""
    name = key.thing.value if isinstance(key.thing, Const) else None
    match holder.thing:
        case State(written=written) if isinstance(name, str):
            written[name] = chosen_here(value, frame)
        case Table(entries=entries) if isinstance(key.thing, Const):
            entries[name] = chosen_here(value, frame)
        case Table():
            held = holder.thing
            held.rest = data(deep(value), *([held.rest.taints] if held.rest else [])) if held.rest else value
        case Items():
            holder.thing.rest = data(deep(value), *([holder.thing.rest.taints] if holder.thing.rest else []))
        case Instance(attributes=attributes) if isinstance(name, str):
            attributes[name] = chosen_here(value, frame)
        case _:
            return False
    return True
