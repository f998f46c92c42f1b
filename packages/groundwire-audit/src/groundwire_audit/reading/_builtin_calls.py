"""Calls of the language's own helpers, which pass values on, take items, or call what they are given."""

from __future__ import annotations

import ast
import re

from groundwire_audit.reading._binding import iterated
from groundwire_audit.reading._conditions import (
    ALWAYS,
    Formula,
    Taint,
    TaintKind,
    Taints,
    Test,
    all_of,
    any_of,
    when,
    world,
)
from groundwire_audit.reading._frames import Arguments, Effect, Frame, boolean, deep, text_of, truth
from groundwire_audit.reading._knowledge import class_name, words
from groundwire_audit.reading._members import bases, line_of
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._values import (
    NONE,
    Bound,
    Choice,
    ClassValue,
    Const,
    External,
    FunctionValue,
    Instance,
    Items,
    Partial,
    StateValue,
    Table,
    Value,
    const,
    data,
    external,
)

# Calls of the language's own helpers for lists: how many, which of them, each in turn.

PASSES = words(
    """
    str repr format bytes iter next reversed sorted float int abs round sum min max enumerate zip ascii ord chr
    hash divmod pow complex memoryview bytearray anext aiter vars dir id
    """
)


CALLS_FIRST = frozenset(
    {"map", "filter", "reduce", "to_thread", "starmap", "submit", "run_in_executor", "accumulate", "call_soon"}
)


COUNTED = frozenset({Taint(TaintKind.COUNTER)})


def passed(name: str, given: Arguments, frame: Frame) -> Value:
    first = given.positional[0] if given.positional else None
    if name in {"int", "float"}:
        frame.risks.add(frozenset({Taint(TaintKind.FORM, what=f"{name}()")}))
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
        case Items(kind="set") if any(t.kind is TaintKind.MODEL or t.kind is TaintKind.KEY for t in deep(value)):
            return data(frozenset({Taint(TaintKind.CHECK, what="how many differ")}))
        case StateValue():
            return data(frozenset({Taint(TaintKind.LENGTH, "*")}))
        case _:
            return data(_lengths(deep(value)))


def _lengths(taints: Taints) -> Taints:
    keys = {t.detail for t in taints if t.kind is TaintKind.KEY}
    # how many items of a list fit a condition on the items is still how many there are
    taints = frozenset(t for t in taints if t.test is None or not keys or not _only_of(t.test, keys))
    counted = frozenset(Taint(TaintKind.LENGTH, t.detail) if t.kind is TaintKind.KEY else t for t in taints)
    return counted if any(t.kind is TaintKind.LENGTH for t in counted) else counted | {Taint(TaintKind.LENGTH, "")}


def _only_of(test: Test, keys: set[str]) -> bool:
    return all(
        (t.kind in {TaintKind.KEY, TaintKind.LAST} and t.detail in keys)
        or t.kind is TaintKind.FIXED
        or (t.test is not None and _only_of(t.test, keys))
        for t in test.taints
    )


def quantified(name: str, value: Value) -> Value:
    held, complete = iterated(value)
    tests: list[Formula] = [truth(v, f"{name}(…)") for v in held]
    if not complete:
        tests.append(when(Test(deep(value), text=f"{name}(…)")))
    return boolean(any_of(tests) if name == "any" else all_of(tests))


# Calls of the language's own helpers, which pass values on or call what they are given.

SAME = words(
    """
    list tuple deepcopy copy cast create_task ensure_future wait_for shield closing nullcontext reveal_type
    aclosing
    """
)
PLAIN_TYPES = frozenset({"str", "int", "float", "bool", "list", "dict", "tuple", "set", "bytes"})
WORDS = re.compile(r"^[\w\s|():^$,.!'\"?*+-]*$")
JUST_WORDS = re.compile(r"\\[bBsSZA]|\\s\*|\(\?[a-z]+\)|\(\?:|[|()^$?*+]")


def call_builtin(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value | None:
    """The value of such a call, or None where it is none of these."""
    name = path.rsplit(".", 1)[-1]
    first = given.positional[0] if given.positional else None
    if name in SAME:
        return first or Value(Items("list"))
    if name in {"set", "frozenset"}:
        return Value(Items("set", [], data(given.taints()))) if first is not None else Value(Items("set"))
    if name in PASSES and path.startswith("builtins."):
        return passed(name, given, frame)
    if name in CALLS_FIRST:
        return called(reader, name, given, node, frame)
    match path:
        case "builtins.len" if first is not None:
            return length(first)
        case "builtins.any" | "builtins.all" if first is not None:
            return quantified(name, first)
        case "builtins.bool" if first is not None:
            return boolean(truth(first, _text(node)))
        case "builtins.isinstance" if first is not None:
            return _is_instance(first, given, node)
        case "builtins.hasattr" | "builtins.getattr" if first is not None:
            return _get(reader, name, first, given, node, frame)
        case "builtins.setattr" if first is not None:
            return NONE
        case "builtins.dict":
            start = dict(first.thing.entries) if first is not None and isinstance(first.thing, Table) else {}
            rest = data(deep(first)) if first is not None and not isinstance(first.thing, Table) else None
            return Value(
                Table(
                    {**start, **given.named},
                    rest,
                    whole_state=first is not None and isinstance(first.thing, StateValue),
                )
            )
        case "builtins.range":
            return external("builtins.range()", given.taints() | COUNTED)
        case "builtins.open":
            return _open(given, node, frame)
        case "builtins.super":
            return _super(frame)
        case "builtins.print" | "builtins.callable" | "builtins.type" | "builtins.issubclass":
            return data(given.taints()) if name != "print" else NONE
        case "functools.partial" if first is not None:
            return Value(Partial(first, tuple(given.positional[1:]), tuple(given.named.items())))
        case (
            "functools.wraps"
            | "functools.lru_cache"
            | "functools.cache"
            | "functools.update_wrapper"
            | "contextlib.contextmanager"
        ):
            return (
                external(f"{path}()")
                if not (first and isinstance(first.thing, FunctionValue) and name in {"cache", "lru_cache"})
                else first
            )
        case "functools.wraps()" | "functools.lru_cache()" if first is not None:
            return first
        case "asyncio.gather":
            return Value(Items("list", list(given.positional), given.more))
        case "asyncio.run" | "asyncio.wait" | "asyncio.as_completed" | "asyncio.timeout":
            return first or data()
        case "dataclasses.replace" if first is not None:
            return _replaced(first, given)
        case "dataclasses.field" | "dataclasses.asdict" | "dataclasses.astuple":
            return given.named.get("default") or data(given.taints())
        case "itertools.chain" | "itertools.chain.from_iterable":
            return data(given.taints())
        case "re.search" | "re.match" | "re.fullmatch":
            return _matched(given)
        case _:
            return None


def _text(node: ast.AST) -> str:
    return text_of(node)


def _is_instance(value: Value, given: Arguments, node: ast.AST) -> Value:
    kinds = given.positional[1] if len(given.positional) > 1 else data()
    named = kinds.thing.items if isinstance(kinds.thing, Items) else [kinds]
    names = {_type_name(k) for k in named}
    if isinstance(value.thing, Choice) and all(_has_class(v) for v, _ in value.thing.options):
        # one of several objects, each of a known class: events of a workflow, nodes of a graph
        return boolean(any_of(formula for v, formula in value.thing.options if names & _classes(v)))
    taints = deep(value)
    if names & {"AgentFinish", "AgentAction"}:
        taints = frozenset({Taint(TaintKind.ASK)})
    elif names <= PLAIN_TYPES and any(t.kind is TaintKind.MODEL for t in taints):
        taints = frozenset({Taint(TaintKind.FORM, what="isinstance")})
    return boolean(when(Test(taints, text=_text(node), constant=True))) if taints else data()


def _has_class(value: Value) -> bool:
    return isinstance(value.thing, Instance | External)


def _classes(value: Value) -> set[str]:
    if isinstance(value.thing, Instance):
        line = line_of(value.thing.of)
        return {c.node.name for c in line} | {_type_name(b) for b in bases(value.thing.of)}
    return {_type_name(value)}


def _type_name(value: Value) -> str:
    match value.thing:
        case External(path=path):
            return class_name(path)
        case ClassValue(node=node):
            return node.name
        case _:
            return ""


def _get(reader: Reader, name: str, owner: Value, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    key = given.positional[1] if len(given.positional) > 1 else None
    if key is None or not isinstance(key.thing, Const) or not isinstance(key.thing.value, str):
        return data(deep(owner))
    found = reader.attribute(owner, key.thing.value, frame)
    if name == "hasattr":
        # nearly always a guard before the attribute is used, which says nothing by itself
        return boolean(ALWAYS) if deep(found) else boolean(when(Test(deep(owner), text=_text(node))))
    return data(found.taints) if isinstance(found.thing, Bound) and not isinstance(owner.thing, Instance) else found


def _open(given: Arguments, node: ast.AST, frame: Frame) -> Value:
    mode = given.get(1, "mode")
    said = mode.thing.value if mode is not None and isinstance(mode.thing, Const) else "r"
    if isinstance(said, str) and any(letter in said for letter in "wax"):
        return data()
    frame.add(Effect(TaintKind.WORLD, "file", "open()", frame.module.place(node)))
    frame.risks.add(world("file", "open()"))
    return external("builtins.open()", world("file", "open()"))


def _super(frame: Frame) -> Value:
    """What a base class of the same source defines; what a library's base does is taken for harmless set-up."""
    holder = frame.scope.get("self") or frame.scope.get("cls")
    if holder is not None and isinstance(holder.thing, Instance):
        for base in bases(holder.thing.of):
            if isinstance(base.thing, ClassValue):
                return Value(Instance(base.thing, holder.thing.attributes))
    return data()


def _replaced(first: Value, given: Arguments) -> Value:
    match first.thing:
        case StateValue():
            return Value(Table(dict(given.named), whole_state=True))
        case Instance(of=cls, attributes=attributes):
            return Value(Instance(cls, {**attributes, **given.named}), first.taints)
        case _:
            return data(deep(first), given.taints())


def _matched(given: Arguments) -> Value:
    """A search for plain words in a text is what the text says; any other pattern is a matter of form."""
    pattern, text = given.get(0, "pattern"), given.get(1, "string")
    taints = deep(text) if text is not None else given.taints()
    shape = pattern.thing.value if pattern is not None and isinstance(pattern.thing, Const) else None
    if (
        isinstance(shape, str)
        and WORDS.match(JUST_WORDS.sub("", shape))
        and re.search(r"[A-Za-z]{2,}", JUST_WORDS.sub(" ", shape))
    ):
        said = Test(taints, op="in", text=f"{shape!r} is in it", constant=True)
        return data(taints, frozenset({Taint(TaintKind.COMPARE, what=said.text, test=said)}))
    return external("re.match()", taints)
