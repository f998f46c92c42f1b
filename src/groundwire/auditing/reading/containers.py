"""Lists, tuples, sets, dicts and what is taken out of them."""

from __future__ import annotations

import ast

from groundwire.auditing.conditions import Test, when
from groundwire.auditing.declared_graph import GraphValue
from groundwire.auditing.reading.attributes import read_key
from groundwire.auditing.reading.frames import Frame
from groundwire.auditing.reading.merging import deep, merge
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.taints import Kind, Taint, Taints
from groundwire.auditing.values import (
    OPAQUE,
    Choice,
    Class,
    Const,
    External,
    Instance,
    Items,
    State,
    Table,
    Value,
    data,
)

__all__ = ["concatenated", "merged_tables", "of_key", "read_items", "read_table", "shrunk", "subscript"]

MAX_ENTRIES = 24
GROW = frozenset({Taint(Kind.GROW)})
SHRINK = frozenset({Taint(Kind.SHRINK)})
ASK = frozenset({Taint(Kind.ASK)})


def read_items(reader: Reader, node: ast.List | ast.Tuple | ast.Set, frame: Frame) -> Value:
    """A list, tuple or set as it is written."""
    held: list[Value] = []
    rest: list[Taints] = []
    for element in node.elts:
        value = reader.value(element, frame)
        if isinstance(element, ast.Starred):
            if isinstance(value.thing, Items):
                held += value.thing.items
                if value.thing.rest is not None:
                    rest.append(deep(value.thing.rest))
            else:
                rest.append(deep(value))
        else:
            held.append(value)
    kind = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[type(node)]
    grown = GROW if rest and held else frozenset[Taint]()
    return Value(Items(kind, held, data(*rest) if rest else None), grown)


def read_table(reader: Reader, node: ast.Dict, frame: Frame) -> Value:
    """A dict as it is written."""
    made = Table()
    rest: list[Taints] = []
    for key, element in zip(node.keys, node.values, strict=True):
        value = reader.value(element, frame)
        if key is None:
            if isinstance(value.thing, Table):
                made.entries.update(value.thing.entries)
                made.whole_state |= value.thing.whole_state
                if value.thing.rest is not None:
                    rest.append(deep(value.thing.rest))
            elif isinstance(value.thing, State):
                made.whole_state = True
                made.entries.update(value.thing.written)
            else:
                rest.append(deep(value))
            continue
        name = reader.value(key, frame)
        if isinstance(name.thing, Const):
            made.entries[name.thing.value] = value
        else:
            rest.append(deep(value))
    made.rest = data(*rest) if rest else None
    return Value(made)


def merged_tables(left: Value, right: Value) -> Value:
    """`a | b` of two dicts."""
    first, second = left.thing, right.thing
    assert isinstance(first, Table)
    assert isinstance(second, Table)
    rests = [r for r in (first.rest, second.rest) if r is not None]
    made = Table({**first.entries, **second.entries}, data(*(r.taints for r in rests)) if rests else None)
    made.whole_state = first.whole_state or second.whole_state
    return Value(made, left.taints | right.taints)


def concatenated(left: Value, right: Value) -> Value:
    """`a + b` of two lists, of which at least one is known."""
    if isinstance(left.thing, Items) and isinstance(right.thing, Items):
        rests = [r for r in (left.thing.rest, right.thing.rest) if r is not None]
        rest = data(*(r.taints for r in rests)) if rests else None
        return Value(Items("list", [*left.thing.items, *right.thing.items], rest), left.taints | right.taints)
    known, other = (left, right) if isinstance(left.thing, Items) else (right, left)
    assert isinstance(known.thing, Items)
    rest = data(deep(other), *([known.thing.rest.taints] if known.thing.rest else []))
    return Value(Items("list", list(known.thing.items), rest), GROW | known.taints)


def subscript(reader: Reader, node: ast.Subscript, frame: Frame) -> Value:
    """`a[b]`."""
    owner = reader.value(node.value, frame)
    if isinstance(node.slice, ast.Slice):
        return _slice(reader, owner, node.slice, frame)
    key = reader.value(node.slice, frame)
    return of_key(owner, key)


def of_key(owner: Value, key: Value) -> Value:
    """What lies under a key or place."""
    name = key.thing.value if isinstance(key.thing, Const) else None
    match owner.thing:
        case State():
            if isinstance(name, str):
                return read_key(owner.thing, name)
            root = Taint(Kind.LAST, "*") if name == -1 else Taint(Kind.KEY, "*")
            return data(frozenset({root}))
        case Table(entries=entries, rest=rest):
            if isinstance(key.thing, Const) and name in entries:
                return entries[name].with_taints(owner.taints)
            if isinstance(key.thing, Const):
                return (rest or data()).with_taints(owner.taints)
            asked = frozenset(t for t in deep(key) if t.kind is Kind.ASK)
            return _any_entry(entries, rest, key).with_taints(owner.taints | asked)
        case Items(items=held, rest=rest) if isinstance(name, int) and held and (rest is None or name in {0, -1}):
            inside = -len(held) <= name < len(held)
            return held[name].with_taints(owner.taints) if inside else data(deep(owner))
        case Items():
            return owner.thing.any_item().with_taints(owner.taints | key.taints)
        case Choice(options=choices):
            return merge([(of_key(v, key), f) for v, f in choices])
        case Instance(attributes=attributes) if isinstance(name, str) and name in attributes:
            return attributes[name]
        case Class() | GraphValue():
            return owner
        case External(path=path) if path.startswith(
            ("typing", "langgraph", "collections", "builtins")
        ) and not path.endswith(")"):
            return owner if path.rsplit(".", 1)[-1] not in WRAPPERS else _annotated(key)
        case External(path=path):
            return Value(External(f"{path}[]") if "()" in path else OPAQUE, _taken(deep(owner), name) | key.taints)
        case _:
            return data(_taken(deep(owner), name), frozenset(t for t in deep(key) if t.kind is not Kind.FIXED))


WRAPPERS = frozenset({"Annotated", "Optional", "Required", "NotRequired", "ReadOnly"})


def _annotated(key: Value) -> Value:
    return key.thing.items[0] if isinstance(key.thing, Items) and key.thing.items else key


def _any_entry(entries: dict[object, Value], rest: Value | None, key: Value) -> Value:
    if len(entries) > MAX_ENTRIES:
        return data(deep(key), *(deep(v) for v in entries.values()))
    tests = [
        (value, when(Test(deep(key), op="==", text=f"key is {name!r}", constant=True)))
        for name, value in entries.items()
    ]
    if rest is not None:
        tests.append((rest, when(Test(deep(key), op="==", text="another key"))))
    return merge(tests) if tests else data(deep(key))


def _taken(taints: Taints, name: object) -> Taints:
    """The last item of a list in the state is its own source; a key of calls asked for is the model's asking."""
    if name == -1:
        return frozenset(Taint(Kind.LAST, t.detail) if t.kind is Kind.KEY else t for t in taints)
    return taints | ASK if name in {"tool_calls", "function_call"} else taints


def shrunk(value: Value) -> Value:
    """The same list with an item less."""
    return data(deep(value), SHRINK if any(t.kind is Kind.KEY for t in deep(value)) else frozenset[Taint]())


def _slice(reader: Reader, owner: Value, part: ast.Slice, frame: Frame) -> Value:
    bounds = [reader.value(b, frame) if b is not None else None for b in (part.lower, part.upper)]
    lower, upper = (b.thing.value if b is not None and isinstance(b.thing, Const) else b for b in bounds)
    if isinstance(owner.thing, State):
        owner = data(frozenset({Taint(Kind.KEY, "*")}))
    if isinstance(owner.thing, Items) and owner.thing.rest is None:
        try:
            return Value(Items(owner.thing.kind, owner.thing.items[lower:upper]), owner.taints)  # type: ignore[misc] # Value bounds raise TypeError
        except TypeError:
            return Value(Items(owner.thing.kind, [], owner.thing.any_item()), owner.taints)
    if isinstance(lower, int) and lower < 0:
        return data(_taken(deep(owner), -1))
    if (isinstance(lower, int) and lower > 0) or isinstance(lower, Value) or upper == -1:
        return shrunk(owner)
    return data(deep(owner))
