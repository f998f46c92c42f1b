"""Running models, chains and tools: what they ask, and what their reply rests on."""

from __future__ import annotations

import ast

from groundwire.auditing.knowledge.lookup import class_name, describe
from groundwire.auditing.reading.arguments import Arguments
from groundwire.auditing.reading.frames import Effect, Frame
from groundwire.auditing.reading.merging import deep
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.reading.tools import ToolKind, inspect_tool
from groundwire.auditing.taints import Kind, Taint, Taints, world
from groundwire.auditing.values import (
    Chain,
    Const,
    External,
    Function,
    Instance,
    Items,
    Model,
    Partial,
    Table,
    Tool,
    ToolNode,
    Value,
    const,
    data,
)
from groundwire.auditing.words import words

__all__ = ["RUNS", "call_model", "model_method", "model_reply"]

RUNS = words(
    """
    invoke ainvoke stream astream batch abatch predict apredict generate agenerate run arun call __call__
    predict_messages complete acomplete chat achat transform atransform astream_events invoke_with_retry forward
    """
)
SEVERAL = frozenset({"batch", "abatch", "stream", "astream", "generate", "astream_events"})
STRUCTURES = frozenset({"with_structured_output", "as_structured_llm", "with_structured_chat"})
FORM = frozenset({Taint(Kind.FORM, what="a malformed reply")})
FIELDS = frozenset({Taint(Kind.MODEL, "fields")})


def model_reply(label: str, *, structured: bool, node: ast.AST, frame: Frame, inferred: bool = False) -> Value:
    """A model is asked here; its reply."""
    said = f"{label} (taken for a model by its name)" if inferred else label
    frame.add(Effect(Kind.MODEL, "", said, frame.module.place(node)))
    frame.risks.add(FORM)
    return data(frozenset({Taint(Kind.MODEL, "fields" if structured else "text", label)}))


def call_model(reader: Reader, callee: Value, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """Runs a model, chain, tool or tool node."""
    match callee.thing:
        case Model(label=label, structured=structured, inferred=inferred):
            return model_reply(label, structured=structured, node=node, frame=frame, inferred=inferred)
        case Chain(parts=parts):
            value = given.positional[0] if given.positional else data(given.taints())
            for part in parts:
                value = _part(reader, part, value, node, frame)
            return value
        case Tool(label=label, action=action):
            return run_tool(reader, label, action, given, node, frame)
        case ToolNode(tools=tools, why=why):
            for tool in tools or ():
                run_tool(reader, "", tool, Arguments([data(FIELDS)]), node, frame)
            if tools is None:
                frame.add(Effect(Kind.UNKNOWN, why or "its tools are not in sight", "tools", frame.module.place(node)))
            return data(world("tool", "tools"))
        case _:
            return data(given.taints())


def run_tool(reader: Reader, label: str, action: Value | None, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """Runs a tool, whose arguments a model chose; one that asks nothing outside only gives back what it was given."""
    seen = inspect_tool(reader, Value(Tool(label, action)))
    place = frame.module.place(node)
    match seen.kind:
        case ToolKind.WORLD:
            frame.add(Effect(Kind.WORLD, "tool", f"{label}: {seen.why}", place, declared=seen.declared))
            return data(world("tool", label))
        case ToolKind.HUMAN:
            frame.add(Effect(Kind.HUMAN, "", label, place, declared=seen.declared))
            return data(frozenset({Taint(Kind.HUMAN, what=label)}))
        case ToolKind.UNKNOWN:
            frame.add(Effect(Kind.UNKNOWN, seen.why, label, place))
            return data(frozenset({Taint(Kind.UNKNOWN, seen.why)}))
        case ToolKind.MODEL:
            frame.add(Effect(Kind.MODEL, "", label, place))
            return data(FIELDS)
        case _:
            return data(given.taints() | FIELDS)


def _part(reader: Reader, part: Value, value: Value, node: ast.AST, frame: Frame) -> Value:
    """One part of a chain, given what the part before it gave."""
    match part.thing:
        case Table(entries=entries):
            return Value(Table({k: _part(reader, v, value, node, frame) for k, v in entries.items()}))
        case External(path=path):
            known = describe(path)
            if known.kind == "parser":
                frame.risks.add(FORM)
                plain = class_name(path) == "StrOutputParser"
                return value if plain else data(_fields(deep(value)))
            if known.kind == "pure":
                return data(deep(value))
            return reader.call(Value(External(f"{path}.invoke"), part.taints), Arguments([value]), node, frame)
        case Const():
            return part
        case Instance():
            return reader.call(reader.attribute(part, "invoke", frame), Arguments([value]), node, frame)
        case _:
            return reader.call(part, Arguments([value]), node, frame)


def _fields(taints: Taints) -> Taints:
    return frozenset(Taint(Kind.MODEL, "fields", t.what) if t.kind is Kind.MODEL else t for t in taints)


def model_method(reader: Reader, owner: Value, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """A method of a model, chain, tool, tool node or function that is used as one of these."""
    thing = owner.thing
    if name in RUNS:
        reply = reader.call(owner, given, node, frame)
        return Value(Items("list", [], reply)) if name in SEVERAL else reply
    if isinstance(thing, Model):
        return _configured(thing, name, given)
    if name in STRUCTURES and isinstance(thing, Chain):
        last = thing.parts[-1].thing
        changed = Value(Model(last.label, structured=True)) if isinstance(last, Model) else thing.parts[-1]
        return Value(Chain((*thing.parts[:-1], changed)))
    if name == "pipe":
        first = thing.parts if isinstance(thing, Chain) else (owner,)
        return Value(Chain((*first, *given.positional)))
    if name == "assign":
        return Value(Chain((owner, Value(Table(dict(given.named))))))
    if isinstance(thing, Function | Partial) and name in {"submit", "delay", "remote", "apply_async", "map"}:
        return reader.call(owner, given, node, frame)
    if isinstance(thing, Function) and name in {"result", "get", "done"}:
        return owner
    return owner


def _configured(model: Model, name: str, given: Arguments) -> Value:
    """A model with tools, a schema, or another setting."""
    if name in STRUCTURES:
        return Value(Model(model.label, structured=True, tools=model.tools, inferred=model.inferred))
    if name in {"bind_tools", "bind_functions", "bind"}:
        tools = given.get(0, "tools", "functions")
        held = tuple(tools.thing.items) if tools is not None and isinstance(tools.thing, Items) else model.tools
        return Value(Model(model.label, structured=model.structured, tools=held, inferred=model.inferred))
    if name in {"get_num_tokens", "get_num_tokens_from_messages", "get_token_ids"}:
        return data(given.taints())
    if name in {"model_name", "name", "model"}:
        return const(model.label)
    return Value(model)
