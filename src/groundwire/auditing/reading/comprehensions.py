"""Comprehensions: item by item where the items are known, else once for all of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from groundwire.auditing.conditions import ALWAYS, NEVER, Formula, all_of
from groundwire.auditing.reading.assignment import assign
from groundwire.auditing.reading.frames import Frame
from groundwire.auditing.reading.merging import control, deep
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.taints import Taint, Taints, join
from groundwire.auditing.values import Const, Items, Scope, Table, Value, const, data

__all__ = ["comprehend", "iterated", "rounds"]

MAX_ITEMS = 64
Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def iterated(value: Value) -> tuple[list[Value], bool]:
    """The items of something that is gone through, and whether these are all."""
    match value.thing:
        case Items(items=held, rest=rest) if len(held) <= MAX_ITEMS:
            return ([*held, *([rest] if rest else [])], rest is None)
        case Table(entries=entries, rest=rest) if len(entries) <= MAX_ITEMS:
            keys = [const(k) for k in entries if isinstance(k, str | int | float | bool | None)]
            return ([*keys, *([rest] if rest else [])], rest is None)
        case Const(value=str(text)) if 0 < len(text) <= MAX_ITEMS:
            return ([const(c) for c in text], True)
        case _:
            return ([data(deep(value))], False)


def rounds(reader: Reader, node: Comprehension, frame: Frame) -> Iterator[tuple[Frame, Formula, Taints, bool]]:
    """Each round: a frame with its names, its condition, what the iteration rests on, whether it is one of all."""
    inner = Frame(
        frame.module,
        Scope(frame.scope),
        frame.name,
        frame.depth,
        frame.conditions,
        effects=frame.effects,
        asked=frame.asked,
        risks=frame.risks,
        loops=frame.loops,
        nested=frame.nested,
    )
    yield from _rounds(reader, node.generators, inner, ALWAYS, frozenset(), complete=True)


def _rounds(
    reader: Reader, generators: list[ast.comprehension], frame: Frame, given: Formula, taints: Taints, *, complete: bool
) -> Iterator[tuple[Frame, Formula, Taints, bool]]:
    if not generators:
        yield frame, given, taints, complete
        return
    first, *others = generators
    source = reader.value(first.iter, frame)
    held, is_all = iterated(source)
    for item in held:
        bind(reader, first.target, item, frame)
        tests = [reader.truth(test, frame) for test in first.ifs]
        condition = all_of([given, *tests])
        if condition != NEVER:
            more = taints if is_all else taints | deep(source)
            yield from _rounds(reader, others, frame, condition, more, complete=complete and is_all)


def bind(reader: Reader, target: ast.expr, value: Value, frame: Frame) -> None:
    """Assigns to a target."""
    assign(reader, target, value, frame)


def comprehend(reader: Reader, node: Comprehension, frame: Frame) -> Value:
    """The list, set or dict that comes out."""
    if isinstance(node, ast.DictComp):
        return _table(reader, node, frame)
    kind = "set" if isinstance(node, ast.SetComp) else "list"
    held: list[Value] = []
    rest: list[Taints] = []
    samples: list[Value] = []
    for inner, condition, taints, complete in rounds(reader, node, frame):
        value = reader.value(node.elt, inner)
        if complete and condition == ALWAYS:
            held.append(value)
        else:
            # what a result rests on counts, not over what was gone; that only where the result itself rests on nothing
            own = control(condition) | (frozenset[Taint]() if deep(value) else taints)
            samples.append(value.with_taints(own))
            rest.append(own)
    if not samples:
        return Value(Items(kind, held))
    one = samples[0].with_taints(join(rest)) if len(samples) == 1 else data(*(deep(s) for s in samples), *rest)
    return Value(Items(kind, held, one))


def _table(reader: Reader, node: ast.DictComp, frame: Frame) -> Value:
    made = Table()
    rest: list[Value] = []
    for inner, condition, taints, complete in rounds(reader, node, frame):
        key, value = reader.value(node.key, inner), reader.value(node.value, inner)
        if complete and condition == ALWAYS and isinstance(key.thing, Const):
            made.entries[key.thing.value] = value
        else:
            rest.append(value.with_taints(taints | control(condition) | deep(key)))
    if rest:
        made.rest = rest[0] if len(rest) == 1 else data(*(deep(r) for r in rest))
    return Value(made)
