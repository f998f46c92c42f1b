"""Binding names, attributes and keys; comprehensions, which bind theirs item by item."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from groundwire_audit.reading._conditions import ALWAYS, NEVER, Formula, Taint, Taints, all_of, join
from groundwire_audit.reading._conditions import key as key_of_state
from groundwire_audit.reading._frames import Frame, control, deep
from groundwire_audit.reading._graph import GraphValue
from groundwire_audit.reading._members import of_key, shrunk
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._values import (
    Const,
    Instance,
    Items,
    Opaque,
    Scope,
    StateValue,
    Table,
    Value,
    const,
    data,
)

# Assigning to names, attributes, keys and several targets at once.


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
            frame.scope.bound_at[name] = getattr(target, "lineno", 0)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            _unpack(reader, elements, value, frame)
        case ast.Starred(value=inner):
            assign(reader, inner, value, frame)
        case ast.Attribute(value=owner, attr=name):
            holder = reader.value(owner, frame)
            set_attribute(holder, name, value, frame)
            _changed_inside(owner, frame)
            if isinstance(holder.thing, Opaque) and isinstance(owner, ast.Name):
                frame.scope.put(owner.id, holder.with_taints(deep(value)))
        case ast.Subscript(value=owner, slice=key):
            holder = reader.value(owner, frame)
            name = reader.value(key, frame)
            _changed_inside(owner, frame)
            if not set_key(holder, name, value, frame):
                _set_inside(reader, owner, holder, name, value, frame)
        case _:
            pass


def _changed_inside(owner: ast.expr, frame: Frame) -> None:
    """What is tested of a thing before and after a part of it is set are two things."""
    root = owner
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    if isinstance(root, ast.Name):
        frame.scope.bound_at[root.id] = owner.lineno


def _set_inside(reader: Reader, owner: ast.expr, holder: Value, key: Value, value: Value, frame: Frame) -> None:
    """`holder[key] = value` where the holder is data: it becomes a dict that has one new key."""
    if isinstance(holder.thing, Opaque) and isinstance(key.thing, Const):
        changed = Value(Table({key.thing.value: chosen_here(value, frame)}, holder))
    elif isinstance(holder.thing, Opaque) or isinstance(owner, ast.Name):
        changed = holder.with_taints(deep(value))
    else:
        return
    if isinstance(owner, ast.Name | ast.Attribute | ast.Subscript):
        assign(reader, owner, changed, frame)
    _changes_state(holder, changed, frame)


def _changes_state(holder: Value, changed: Value, frame: Frame) -> None:
    """What was taken out of the state and is changed in place is changed in the state."""
    names = [t.detail for t in holder.taints]
    if len(names) == 1 and holder.taints == key_of_state(names[0]):
        for held in frame.scope.names.values():
            if isinstance(held.thing, StateValue) and names[0] not in held.thing.written:
                held.thing.written[names[0]] = changed


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
        case StateValue(written=written):
            written[name] = chosen_here(value, frame)
        case GraphValue(graph=graph) if name == "handoffs" and isinstance(value.thing, Items):
            graph.handoffs = value.thing
        case _:
            pass


def set_key(holder: Value, key: Value, value: Value, frame: Frame) -> bool:
    """`holder[key] = value`; False if the holder can't keep it."""
    name = key.thing.value if isinstance(key.thing, Const) else None
    match holder.thing:
        case StateValue(written=written) if isinstance(name, str):
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


# Comprehensions: item by item where the items are known, else once for all of them.

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
