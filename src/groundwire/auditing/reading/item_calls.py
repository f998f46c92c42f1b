"""Calls of the language's own helpers for lists: how many, which of them, each in turn."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from groundwire.auditing.conditions import Formula, Test, all_of, any_of, when
from groundwire.auditing.reading.arguments import Arguments
from groundwire.auditing.reading.comprehensions import iterated
from groundwire.auditing.reading.frames import Frame
from groundwire.auditing.reading.merging import boolean, deep, truth
from groundwire.auditing.taints import Kind, Taint, Taints
from groundwire.auditing.values import Const, Items, State, Table, Value, const, data
from groundwire.auditing.words import words

if TYPE_CHECKING:
    from groundwire.auditing.reading.reader import Reader


__all__ = ["CALLS_FIRST", "COUNTED", "PASSES", "called", "length", "passed", "quantified"]

PASSES = words(
    """
    str repr format bytes iter next reversed sorted float int abs round sum min max enumerate zip ascii ord chr
    hash divmod pow complex memoryview bytearray anext aiter vars dir id
    """
)


CALLS_FIRST = frozenset(
    {"map", "filter", "reduce", "to_thread", "starmap", "submit", "run_in_executor", "accumulate", "call_soon"}
)


COUNTED = frozenset({Taint(Kind.COUNTER)})


def passed(name: str, given: Arguments, frame: Frame) -> Value:
    first = given.positional[0] if given.positional else None
    if name in {"int", "float"}:
        frame.risks.add(frozenset({Taint(Kind.FORM, what=f"{name}()")}))
    if first is not None and len(given.all()) == 1 and isinstance(first.thing, Const):
        held = first.thing.value
        if name == "str" and isinstance(held, str | int | float):
            return const(str(held), first.taints)
        if name in {"int", "float", "abs", "round"} and isinstance(held, int | float):
            return first
    if name in {"sorted", "reversed", "iter"} and first is not None:
        return first
    if name == "next" and first is not None and isinstance(first.thing, Items):
        return first.thing.any_item()
    if name == "enumerate" and first is not None:
        held, complete = iterated(first)
        pairs = [Value(Items("tuple", [const(i), item])) for i, item in enumerate(held)]
        return (
            Value(Items("list", pairs))
            if complete
            else Value(Items("list", [], Value(Items("tuple", [data(COUNTED), held[0]]))))
        )
    if name == "zip":
        return _zipped(given)
    return data(given.taints())


def _zipped(given: Arguments) -> Value:
    columns = [iterated(v) for v in given.positional]
    if columns and all(complete for _, complete in columns):
        return Value(
            Items("list", [Value(Items("tuple", list(row))) for row in zip(*(c for c, _ in columns), strict=False)])
        )
    return Value(Items("list", [], Value(Items("tuple", [data(*(deep(v) for v in held)) for held, _ in columns]))))


def called(reader: Reader, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    function = next((v for v in given.positional if not isinstance(v.thing, Const)), None)
    if function is None:
        return data()
    others = [v for v in given.positional if v is not function]
    if name in {"map", "filter", "reduce", "starmap", "accumulate"}:
        held, complete = iterated(others[0]) if others else ([], False)
        results = [reader.call(function, Arguments([h]), node, frame) for h in held]
        if name == "map" and complete:
            return Value(Items("list", results))
        kept = data(*(deep(v) for v in (*results, *held)))
        return Value(Items("list", [], kept)) if name != "reduce" else kept
    return reader.call(function, Arguments(others, given.named), node, frame)


def length(value: Value) -> Value:
    match value.thing:
        case Items(items=held, rest=None):
            return const(len(held))
        case Table(entries=entries, rest=None, whole_state=False):
            return const(len(entries))
        case Const(value=str(text)):
            return const(len(text), value.taints)
        case Items(kind="set") if any(t.kind is Kind.MODEL or t.kind is Kind.KEY for t in deep(value)):
            return data(frozenset({Taint(Kind.CHECK, what="how many differ")}))
        case State():
            return data(frozenset({Taint(Kind.LENGTH, "*")}))
        case _:
            return data(_lengths(deep(value)))


def _lengths(taints: Taints) -> Taints:
    keys = {t.detail for t in taints if t.kind is Kind.KEY}
    # how many items of a list fit a condition on the items is still how many there are
    taints = frozenset(t for t in taints if t.test is None or not keys or not _only_of(t.test, keys))
    counted = frozenset(Taint(Kind.LENGTH, t.detail) if t.kind is Kind.KEY else t for t in taints)
    return counted if any(t.kind is Kind.LENGTH for t in counted) else counted | {Taint(Kind.LENGTH, "")}


def _only_of(test: Test, keys: set[str]) -> bool:
    return all(
        (t.kind in {Kind.KEY, Kind.LAST} and t.detail in keys)
        or t.kind is Kind.FIXED
        or (t.test is not None and _only_of(t.test, keys))
        for t in test.taints
    )


def quantified(name: str, value: Value) -> Value:
    held, complete = iterated(value)
    tests: list[Formula] = [truth(v, f"{name}(…)") for v in held]
    if not complete:
        tests.append(when(Test(deep(value), text=f"{name}(…)")))
    return boolean(any_of(tests) if name == "any" else all_of(tests))
