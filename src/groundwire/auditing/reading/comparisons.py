"""Comparisons, as truth values whose sources are kept apart on both sides."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from groundwire.auditing.conditions import ALWAYS, NEVER, Formula, Test, all_of, any_of, negate, when
from groundwire.auditing.reading.frames import Frame
from groundwire.auditing.reading.merging import boolean, deep, options, text_of, truth
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.taints import Kind, Taint
from groundwire.auditing.values import Const, Items, Opaque, State, Table, Value

__all__ = ["compare", "holds"]

SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
CONSTANT: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.eq,
    "is not": operator.ne,
}
OPPOSITES = {"!=": "==", "is not": "is", "not in": "in"}


def compare(reader: Reader, node: ast.Compare, frame: Frame) -> Value:
    """`a < b`, `a in b`, `a < b < c`."""
    left = reader.value(node.left, frame)
    parts: list[Formula] = []
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = reader.value(right_node, frame)
        parts.append(holds(left, SIGNS[type(op)], right, text_of(node)))
        left = right
    return boolean(all_of(parts))


def holds(left: Value, op: str, right: Value, text: str) -> Formula:
    """When a comparison is true. `!=` is the opposite of `==`, so that both are one test."""
    if op in OPPOSITES:
        return negate(holds(left, OPPOSITES[op], right, text))
    found: list[Formula] = []
    for one, first in options(left):
        for other, second in options(right):
            found.append(all_of([first, second, _single(one, op, other, text)]))
    return any_of(found)


def _single(left: Value, op: str, right: Value, text: str) -> Formula:
    if isinstance(left.thing, Const) and isinstance(right.thing, Const) and op != "in":
        return _constant(left.thing.value, op, right.thing.value)
    if op == "in":
        member = _in_known(left, right)
        if member is not None:
            return member
    if op in {"is", "=="} and _is_none(right) and not isinstance(left.thing, Const | Opaque):
        return negate(truth(left, text))
    if op in {"is", "=="} and isinstance(right.thing, Const) and isinstance(right.thing.value, bool):
        said = truth(left, text)
        return said if right.thing.value else negate(said)
    if isinstance(right.thing, State) and isinstance(left.thing, Const):
        return when(Test(frozenset({Taint(Kind.KEY, str(left.thing.value))}), op="in", text=text, constant=True))
    return when(
        Test(
            deep(left),
            deep(right),
            op=op,
            text=text,
            limit=_number(right) if _number(right) is not None else _number(left),
            constant=isinstance(right.thing, Const) or isinstance(left.thing, Const) or _all_const(right),
        )
    )


def _constant(left: object, op: str, right: object) -> Formula:
    try:
        return ALWAYS if CONSTANT[op](left, right) else NEVER
    except TypeError:
        return NEVER


def _in_known(left: Value, right: Value) -> Formula | None:
    """Membership of a constant in constants."""
    if not isinstance(left.thing, Const):
        return None
    match right.thing:
        case Items(items=held, rest=None) if all(isinstance(i.thing, Const) for i in held):
            return ALWAYS if any(i.thing == left.thing for i in held) else NEVER
        case Table(entries=entries, rest=None, whole_state=False):
            return ALWAYS if left.thing.value in entries else NEVER
        case Const(value=str(text)) if isinstance(left.thing.value, str):
            return ALWAYS if left.thing.value in text else NEVER
        case _:
            return None


def _is_none(value: Value) -> bool:
    return isinstance(value.thing, Const) and value.thing.value is None


def _number(value: Value) -> float | None:
    held = value.thing.value if isinstance(value.thing, Const) else None
    return float(held) if isinstance(held, int | float) and not isinstance(held, bool) else None


def _all_const(value: Value) -> bool:
    return (
        isinstance(value.thing, Items)
        and value.thing.rest is None
        and all(isinstance(i.thing, Const) for i in value.thing.items)
    )
