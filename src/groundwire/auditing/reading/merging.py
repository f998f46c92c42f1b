"""Puts together what different ways through the source leave behind."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from groundwire.auditing.conditions import ALWAYS, NEVER, Formula, Test, all_of, any_of, negate, sources, when
from groundwire.auditing.taints import NOTHING, Kind, Taint, Taints, join
from groundwire.auditing.values import (
    Bound,
    Choice,
    Command,
    Const,
    External,
    Function,
    Instance,
    Items,
    Opaque,
    Partial,
    Send,
    State,
    Table,
    Value,
    const,
    data,
)

__all__ = ["boolean", "control", "deep", "merge", "options", "text_of", "truth"]

MAX_OPTIONS = 24
MAX_TEXT = 80
MAX_LISTS = 4
MAX_DEPTH = 6
LEAVES = (Opaque, Const, External, Function)
MATCHES = ("re.match()", "re.fullmatch()", "re.compile().match()", "re.compile().fullmatch()")


def control(formula: Formula) -> Taints:
    """What a value rests on that was chosen under a condition."""
    return sources(formula)


def boolean(formula: Formula) -> Value:
    """A truth value that holds under a condition."""
    if formula == ALWAYS:
        return const(True)
    if formula == NEVER:
        return const(False)
    return Value(Choice(((const(True), formula), (const(False), negate(formula)))), control(formula))


def options(value: Value) -> list[tuple[Value, Formula]]:
    """What a value can be, each with its condition."""
    if isinstance(value.thing, Choice):
        return [
            (inner, all_of([formula, deeper]))
            for option, formula in value.thing.options
            for inner, deeper in options(option)
        ]
    return [(value, ALWAYS)]


def merge(ways: Sequence[tuple[Value, Formula]]) -> Value:
    """One value for several, each under its condition."""
    flat = [(inner, all_of([f, g])) for value, f in ways for inner, g in options(value)]
    flat = [(v, f) for v, f in flat if f != NEVER]
    if not flat:
        return data()
    first = flat[0][0]
    if all(v.thing is first.thing or v.thing == first.thing for v, _ in flat):
        return Value(first.thing, join(v.taints for v, _ in flat))
    if all(isinstance(v.thing, Table) for v, _ in flat):
        return _tables(flat)
    if all(isinstance(v.thing, Items) for v, _ in flat) and (len(flat) > MAX_LISTS or _alike(flat)):
        return _lists(flat)
    taints = join(v.taints | (control(f) if isinstance(v.thing, Const) else NOTHING) for v, f in flat)
    if all(isinstance(v.thing, Opaque) for v, _ in flat) or len(flat) > MAX_OPTIONS:
        return data(taints, join(deep(v) for v, _ in flat))
    return Value(Choice(tuple(flat)), taints)


def _alike(ways: Sequence[tuple[Value, Formula]]) -> bool:
    return len({len(v.thing.items) for v, _ in ways if isinstance(v.thing, Items)}) == 1


def _tables(ways: Sequence[tuple[Value, Formula]]) -> Value:
    merged = Table()
    tables = [(v.thing, f) for v, f in ways if isinstance(v.thing, Table)]
    for name in dict.fromkeys(k for t, _ in tables for k in t.entries):
        merged.entries[name] = merge([(_chosen(t.entries[name], f), f) for t, f in tables if name in t.entries])
    rests = [t.rest for t, _ in tables if t.rest is not None]
    merged.rest = data(*(r.taints for r in rests)) if rests else None
    merged.whole_state = any(t.whole_state for t, _ in tables)
    return Value(merged, join(v.taints for v, _ in ways))


def _chosen(value: Value, formula: Formula) -> Value:
    return value.with_taints(control(formula)) if isinstance(value.thing, Const) else value


def _lists(ways: Sequence[tuple[Value, Formula]]) -> Value:
    lists = [v.thing for v, _ in ways if isinstance(v.thing, Items)]
    taints = join(v.taints for v, _ in ways)
    if len({len(x.items) for x in lists}) == 1 and not any(x.rest for x in lists):
        columns = [
            merge([(x.items[i], f) for x, (_, f) in zip(lists, ways, strict=True)]) for i in range(len(lists[0].items))
        ]
        return Value(Items(lists[0].kind, columns), taints)
    everything = [i for x in lists for i in (*x.items, *([x.rest] if x.rest else []))]
    chosen = join(control(f) for _, f in ways)
    return Value(Items(lists[0].kind, [], data(join(deep(i) for i in everything), chosen)), taints)


def deep(value: Value, depth: int = 0) -> Taints:
    """All that a value and what it holds rest on."""
    if depth > MAX_DEPTH or isinstance(value.thing, LEAVES):
        return value.taints
    return value.taints | join(deep(inner, depth + 1) for inner in _held(value))


def _asks(value: Value) -> bool:
    return any(t.kind is not Kind.MODEL and t.kind is not Kind.LAST for t in value.taints)


def _held(value: Value) -> Iterable[Value]:
    match value.thing:
        case Items(items=items, rest=rest):
            return [*items, *([rest] if rest else [])]
        case Table(entries=entries, rest=rest):
            return [*entries.values(), *([rest] if rest else [])]
        case Choice(options=choices):
            return [v for v, _ in choices]
        case Instance(attributes=attributes):
            return list(attributes.values())
        case Command(goto=goto, update=update):
            return [v for v in (goto, update) if v is not None]
        case Send(target=target):
            return [target]
        case Partial(arguments=arguments):
            return arguments
        case _:
            return ()


def truth(value: Value, text: str) -> Formula:
    """When a value counts as true.

    Args:
        value: what is tested.
        text: the source text of the test.
    """
    match value.thing:
        case Const(value=held):
            return ALWAYS if held else NEVER
        case Choice(options=choices):
            return any_of(all_of([formula, truth(option, text)]) for option, formula in choices)
        case Items(items=items, rest=rest) | Table(entries=items, rest=rest) if items or rest is None:
            return ALWAYS if items else NEVER
        case External(path=path) if path.endswith(MATCHES):
            return when(Test(frozenset({Taint(Kind.FORM, what=path)}), text=text))
        case Opaque() | Bound() if text.endswith((".content", ".text")) and value.taints and not _asks(value):
            # whether a reply is empty: what it says does not count
            return when(Test(frozenset({Taint(Kind.FORM, what="an empty reply")}), text=text))
        case Opaque() | Items() | Table() | State() | External() | Bound():
            return when(Test(deep(value), text=text))
        case _:
            return ALWAYS


def text_of(node: ast.AST) -> str:
    """The source text, on one line and shortened."""
    try:
        text = " ".join(ast.unparse(node).split())
    except (RecursionError, ValueError, AttributeError):
        return "…"
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
