"""Methods of plain data: lists, dicts, texts, messages, and of the graph's state."""

from __future__ import annotations

import ast
import re

from groundwire_audit.reading._conditions import Taint, TaintKind, Taints, Test, drawn, reason, when
from groundwire_audit.reading._expressions import holds
from groundwire_audit.reading._frames import Arguments, Effect, Frame, boolean, control, deep, merge, options, text_of
from groundwire_audit.reading._knowledge import is_model_name, words
from groundwire_audit.reading._members import ASKS, of_key, shrunk
from groundwire_audit.reading._models import RUNS, STRUCTURES, ask_provided, model_reply, tools_given
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._values import (
    NONE,
    Choice,
    Const,
    Items,
    ModelValue,
    Opaque,
    StateValue,
    Table,
    Value,
    const,
    data,
    unknown,
)

ASK = frozenset({Taint(TaintKind.ASK)})
TAKES = frozenset({"pop", "popleft", "remove", "popitem", "discard", "clear"})
ADDS = frozenset({"append", "add", "appendleft", "insert", "push", "put", "put_nowait"})
EXTENDS = frozenset({"extend", "update", "extendleft"})
HARMLESS = words(
    """
    get keys values items copy setdefault append extend insert pop remove clear index count sort reverse update
    popleft appendleft add discard union intersection difference issubset issuperset strip lstrip rstrip split
    rsplit splitlines join lower upper title capitalize casefold replace startswith endswith format format_map
    find rfind encode decode isdigit isnumeric isalpha isalnum isspace partition rpartition removeprefix
    removesuffix zfill ljust rjust center translate expandtabs group groups groupdict start end span most_common
    total elements subtract model_dump model_dump_json dict json model_copy pretty_print pretty_repr text
    to_dict as_dict _asdict isoformat strftime timestamp date time weekday total_seconds hexdigest digest result
    done add_done_callback write writelines flush close seek tell read readline readlines getvalue info debug
    warning error exception critical log as_posix tolist item mean std round astype head tail iterrows to_string
    to_markdown to_json to_csv reset_index sort_values groupby fillna dropna is_integer bit_length cancel emit
    send track is_set set wait acquire release task_done fromkeys __len__ __contains__ __getitem__
    """
)
TESTS = frozenset({"startswith", "endswith", "issubset", "issuperset", "isdisjoint", "__contains__"})
FORM_TESTS = frozenset({"isdigit", "isnumeric", "isalpha", "isalnum", "isdecimal", "isidentifier", "is_integer"})


DRAWS = words("split rsplit splitlines partition rpartition find rfind index count group groups groupdict")
"""Methods of texts and matches that draw a part out, or say where it is."""


def state_method(owner: Value, name: str, given: Arguments, frame: Frame) -> Value:
    """`state.get(…)` and the like."""
    state = owner.thing
    assert isinstance(state, StateValue)
    key = given.get(0, "key")
    if name in {"get", "pop", "setdefault"} and key is not None:
        read = of_key(owner, key)
        default = given.get(1, "default")
        # what is given when the key is not there yet says nothing about later rounds, only its kind does
        return read.with_taints(deep(default)) if default is not None and not isinstance(default.thing, Const) else read
    if name == "update":
        for value in given.positional:
            if isinstance(value.thing, Table):
                state.written.update({str(k): v for k, v in value.thing.entries.items()})
        state.written.update(given.named)
        return NONE
    if name in {"copy", "model_copy"}:
        update = given.get(-1, "update")
        if update is not None and isinstance(update.thing, Table):
            return Value(Table({**update.thing.entries}, update.thing.rest, whole_state=True))
        return owner
    if name in {"model_dump", "dict"}:
        return Value(Table(dict(state.written), whole_state=True))
    return data(frozenset({Taint(TaintKind.KEY, "*")}))


def data_method(reader: Reader, owner: Value, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """A method of data of which only the sources, or the items, are known."""
    if name in STRUCTURES or name in {"bind_tools", "bind_functions"}:
        return Value(ModelValue(_receiver(node) or "model", structured=name in STRUCTURES, inferred=True))
    if _is_of_a_client(node) and _is_undecided(owner):
        assert isinstance(node, ast.Call)
        asked = text_of(node.func)
        structured = bool({"response_format", "response_model"} & given.named.keys()) or name == "parse"
        ask_provided(tools_given(given), node, frame)
        return model_reply(asked.removesuffix(f".{name}"), structured=structured, node=node, frame=frame)
    if _calls_a_model(owner, name, node):
        return model_reply(_receiver(node) or "model", structured=False, node=node, frame=frame, inferred=True)
    if name == "result" and not given.positional:
        return owner  # of a task: its value
    match owner.thing:
        case Items():
            return _of_items(owner, owner.thing, name, given, node, frame)
        case Table():
            return _of_table(owner, owner.thing, name, given)
        case Const():
            return _of_text(owner, name, given)
        case Choice(options=choices):
            return merge([(data_method(reader, v, name, given, node, frame), f) for v, f in choices])
        case _:
            return _of_opaque(reader, owner, name, given, node, frame)


def _receiver(node: ast.AST) -> str:
    """The name on which a method is called: `llm` of `self.llm.invoke(…)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        match node.func.value:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return name
            case _:
                return ""
    return ""


def _calls_a_model(owner: Value, name: str, node: ast.AST) -> bool:
    return _is_undecided(owner) and name in RUNS and is_model_name(_receiver(node))


def _is_undecided(owner: Value) -> bool:
    return isinstance(owner.thing, Opaque) and all(
        t.kind in {TaintKind.UNKNOWN, TaintKind.FIXED, TaintKind.KEY, TaintKind.COMPARE} for t in owner.taints
    )


OF_CLIENTS = re.compile(
    r"\.((chat\.completions|completions|messages|responses)\.(create|parse|stream)|chat\.(complete|stream)(_async)?"
    r"|models\.generate_content(_stream)?|create_chat_completion)$"
)
"""How the clients of OpenAI, Anthropic, Mistral, Google and llama.cpp are asked."""
OF_MODELS = frozenset({"model", "messages", "contents"})


def _is_of_a_client(node: ast.AST) -> bool:
    """`client.chat.completions.create(model=…)`: only the client of a model is called so, whoever hands it in."""
    if not isinstance(node, ast.Call) or not OF_CLIENTS.search(text_of(node.func)):
        return False
    return any(k.arg is None or k.arg in OF_MODELS for k in node.keywords)


def _of_items(owner: Value, held: Items, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    if name in ADDS and given.positional:
        _add(held, given.positional[-1], frame)
        return NONE
    if name in EXTENDS:
        for value in given.positional:
            if isinstance(value.thing, Items) and value.thing.rest is None:
                for item in value.thing.items:
                    _add(held, item, frame)
            else:
                _add(held, data(deep(value)), frame, surely=False)
        return NONE
    if name in TAKES:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=bound))) if frame.loop_stack and name != "clear":
                frame.scope.put(bound, data(deep(owner), frozenset({Taint(TaintKind.SHRINK)})))
            case _:
                pass
        return held.any_item()
    if name in {"index", "count"}:
        return data(deep(owner), given.taints())
    return owner if name in {"copy", "sort", "reverse"} else data(deep(owner), given.taints())


def _add(held: Items, item: Value, frame: Frame, *, surely: bool = True) -> None:
    """Adds an item; one that is only added under a condition makes the list rest on it."""
    if surely and not frame.conditions and not frame.loop_stack:
        held.items.append(item)
        return
    more = data(deep(item), control(frame.here()))
    held.rest = more if held.rest is None else data(held.rest.taints, more.taints)


def _of_table(owner: Value, held: Table, name: str, given: Arguments) -> Value:
    key = given.get(0, "key")
    if name in {"get", "pop", "setdefault"} and key is not None:
        default = given.get(1, "default") or NONE
        if isinstance(key.thing, Const):
            if key.thing.value in held.entries:
                return held.entries[key.thing.value].with_taints(owner.taints)
            return held.rest.with_taints(owner.taints) if held.rest is not None else default
        other = when(Test(deep(key), op="==", text="another key", constant=True))
        return merge([*options(of_key(owner, key)), (default, other)])
    if name == "values":
        return Value(Items("list", list(held.entries.values()), held.rest), owner.taints)
    if name == "keys":
        return Value(
            Items("list", [const(k) for k in held.entries if isinstance(k, str | int | bool | None)], held.rest)
        )
    if name == "items":
        pairs = [
            Value(Items("tuple", [const(k), v]))
            for k, v in held.entries.items()
            if isinstance(k, str | int | bool | None)
        ]
        return Value(Items("list", pairs, held.rest), owner.taints)
    if name == "update":
        for value in given.positional:
            if isinstance(value.thing, Table):
                held.entries.update(value.thing.entries)
            else:
                held.rest = data(deep(value), *([held.rest.taints] if held.rest else []))
        held.entries.update(given.named)
        return NONE
    return owner if name == "copy" else data(deep(owner), given.taints())


def _of_text(owner: Value, name: str, given: Arguments) -> Value:
    held = owner.thing.value if isinstance(owner.thing, Const) else None
    if name == "format" and isinstance(held, str):
        return data(owner.taints, given.taints()) if given.all() else owner
    if isinstance(held, str) and name in {"lower", "upper", "strip", "title"} and not given.all():
        return const(getattr(held, name)(), owner.taints)
    if isinstance(held, str) and name == "split" and not given.all():
        return Value(Items("list", [const(p) for p in held.split()]), owner.taints)
    return data(owner.taints, given.taints())


def of_text(name: str, taints: Taints, given: Arguments, node: ast.AST) -> Value:
    """A method that every text has: what it says, a part of it, or all of it in another form."""
    if name in TESTS:
        first = given.positional[0] if given.positional else data()
        return boolean(holds(first, "in", data(taints), text_of(node)))
    return data(drawn(taints) if name in DRAWS else taints, given.taints())


def _of_opaque(reader: Reader, owner: Value, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    taints = deep(owner)
    if name in TAKES | ADDS | EXTENDS:
        return _changed(reader, owner, taints, name, given, node, frame)
    if name in TESTS:
        return of_text(name, taints, given, node)
    if name in FORM_TESTS:
        return data(frozenset({Taint(TaintKind.FORM, what=f".{name}()")}))
    key = given.get(0, "key")
    if name == "get" and key is not None and isinstance(key.thing, Const) and isinstance(key.thing.value, str):
        asks = ASK if key.thing.value in ASKS else frozenset[Taint]()
        return of_key(owner, key).with_taints(asks)
    known = not any(t.kind is TaintKind.UNKNOWN for t in taints) and not _runs(owner, name)
    if name in HARMLESS or known:
        asks = ASK if name == "get" and _names_calls(given) else frozenset[Taint]()
        given_too = given.taints() if name not in {"get", "result"} else frozenset[Taint]()
        return data(drawn(taints) if name in DRAWS else taints, asks, given_too)
    why = reason(taints) or f"what .{name}() is called on is not in sight"
    frame.add(Effect(TaintKind.UNKNOWN, why, f"{_receiver(node)}.{name}", frame.module.place(node)))
    return unknown(why)


def _names_calls(given: Arguments) -> bool:
    key = given.get(0, "key")
    return key is not None and isinstance(key.thing, Const) and key.thing.value in ASKS


def _runs(owner: Value, name: str) -> bool:
    """A method that makes something act, on a thing that came out of the state or a setting."""
    if name in ACTS:
        return True
    return name in RUNS and all(t.kind in {TaintKind.KEY, TaintKind.FIXED} for t in owner.taints)


ACTS = frozenset({"invoke", "ainvoke", "batch", "abatch", "astream", "arun"})
"""What only ever makes something act, whatever it is."""


def _changed(
    reader: Reader, owner: Value, taints: Taints, name: str, given: Arguments, node: ast.AST, frame: Frame
) -> Value:
    """A list that is changed in place: the name it has is bound anew."""
    grown = frozenset({Taint(TaintKind.GROW)}) if any(t.kind is TaintKind.KEY for t in taints) else frozenset[Taint]()
    after = shrunk(owner) if name in TAKES else data(taints, given.taints(), grown)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        match node.func.value:
            case ast.Name(id=bound):
                frame.scope.put(bound, after)
            case (
                ast.Subscript(value=holder, slice=ast.Constant(value=str(key))) | ast.Attribute(value=holder, attr=key)
            ):
                state = reader.value(holder, frame)
                if isinstance(state.thing, StateValue):
                    state.thing.written[key] = after
            case _:
                pass
    return data(taints) if name in TAKES else NONE
