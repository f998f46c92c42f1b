"""Language models and the tools that they are given: what asking one brings, and what a tool brings from outside."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from groundwire_audit.reading._conditions import Taint, TaintKind, Taints, reason, world
from groundwire_audit.reading._frames import Arguments, Effect, Frame, deep
from groundwire_audit.reading._graph import GraphValue
from groundwire_audit.reading._graph_methods import run_graph
from groundwire_audit.reading._knowledge import class_name, describe, words
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._values import (
    ChainValue,
    Choice,
    ClassValue,
    CommandValue,
    Const,
    External,
    FunctionValue,
    Handle,
    Instance,
    Items,
    ModelValue,
    Partial,
    Scope,
    Table,
    ToolNodeValue,
    ToolValue,
    Value,
    const,
    data,
)
from groundwire_audit.reading._working_out import computes

# Whether a tool brings anything from outside: its function is followed, a library's is looked up.

ARGUMENT = frozenset({Taint(TaintKind.MODEL, "fields", "its argument")})


class ToolKind(StrEnum):
    """What a tool brings."""

    WORLD = "world"
    HUMAN = "human"
    MODEL = "model"
    """It only asks a model."""
    NOTHING = "nothing"
    """It gives back what it was given, or a fixed word."""
    HANDOFF = "handoff"
    """It only says who goes on."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class SeenTool:
    """A tool as it was read.

    Args:
        kind: what it brings.
        label: its name.
        why: in few words.
        jumps: nodes it leads to.
        effects: what its function asks.
        declared: its name and role, where the role was declared and not read.
    """

    kind: ToolKind
    label: str
    why: str
    jumps: tuple[CommandValue, ...] = ()
    effects: tuple[Effect, ...] = field(default=())
    declared: str = ""


BY_ROLE = {
    "tool": ToolKind.WORLD,
    "world": ToolKind.WORLD,
    "human": ToolKind.HUMAN,
    "actor": ToolKind.MODEL,
    "critic": ToolKind.MODEL,
    "model": ToolKind.MODEL,
    "pure": ToolKind.NOTHING,
}


def inspect_tool(reader: Reader, value: Value) -> SeenTool:
    """Reads one tool; one whose role is declared by name is taken as that."""
    label = _label(value)
    role = reader.role_of_tool(label)
    return _declared(label, role) if role else _inspected(reader, value)


def _label(value: Value) -> str:
    match value.thing:
        case ToolValue(label="", action=action) if action is not None:
            return _label(action)
        case ToolValue(label=label):
            return label
        case FunctionValue(name=name):
            return name
        case _:
            return ""


def _declared(label: str, role: str) -> SeenTool:
    return SeenTool(BY_ROLE[role], label, f"declared {role}", declared=f"{label} ({role})")


def _inspected(reader: Reader, value: Value) -> SeenTool:
    match value.thing:
        case ToolValue(label=label, action=None):
            return SeenTool(ToolKind.UNKNOWN, label, f"what the tool {label} does is not in sight")
        case ToolValue(label=label, action=action) if action is not None:
            return _action(reader, label, action)
        case Choice(options=choices):
            seen = [inspect_tool(reader, v) for v, _ in choices]
            return next((s for s in seen if s.kind is ToolKind.WORLD), seen[0])
        case _:
            return _action(reader, "", value)


def _action(reader: Reader, label: str, action: Value) -> SeenTool:
    match action.thing:
        case FunctionValue(name=name):
            return _function(reader, label or name, action)
        case Partial(function=function) if isinstance(function.thing, FunctionValue):
            return _function(reader, label or function.thing.name, action)
        case ToolValue():
            return inspect_tool(reader, action)
        case External(path=path):
            return _library(label or class_name(path), path)
        case CommandValue():
            return SeenTool(ToolKind.HANDOFF, label, "it hands over", (action.thing,))
        case ClassValue(node=node):
            return SeenTool(ToolKind.NOTHING, label or node.name, "it is only a schema")
        case Table(entries=entries):
            return _described(entries)
        case ModelValue() | GraphValue():
            return _nested(reader, label or "agent", action)
        case Instance(of=cls):
            call = reader.attribute(action, "__call__", _frame(reader, action))
            if isinstance(call.thing, FunctionValue):
                return _function(reader, label or cls.node.name, call)
            return SeenTool(ToolKind.UNKNOWN, label, f"what {cls.node.name} does is not in sight")
        case _:
            why = reason(action.taints) or "a tool is not in sight"
            return SeenTool(ToolKind.UNKNOWN, label, why)


def _library(label: str, path: str) -> SeenTool:
    known = describe(path)
    match known.kind:
        case "world":
            return SeenTool(ToolKind.WORLD, label, known.detail)
        case "human":
            return SeenTool(ToolKind.HUMAN, label, "a person answers")
        case "model":
            return SeenTool(ToolKind.MODEL, label, "it asks a model")
        case "handoff":
            return SeenTool(ToolKind.HANDOFF, label, "it hands over")
        case _:
            return SeenTool(ToolKind.UNKNOWN, label, f"what {path} does is not known")


PROVIDED = ("search", "interpreter", "computer", "execution", "fetch", "mcp", "bash", "url_context")
"""Words in the names of tools that a model's provider runs."""


def _described(entries: dict[object, Value]) -> SeenTool:
    """`{"type": "web_search"}` or `{"google_search": {}}` is run by the provider; a function's schema is not run."""
    kind = entries.get("type")
    held = kind.thing.value if kind is not None and isinstance(kind.thing, Const) else None
    names = [held] if isinstance(held, str) else [n for n in entries if isinstance(n, str)] if len(entries) == 1 else []
    for name in names:
        if any(word in name for word in PROVIDED):
            return SeenTool(ToolKind.WORLD, name, "run by the provider")
    return SeenTool(ToolKind.NOTHING, "schema", "it is only a schema")


def ask_provided(tools: Sequence[Value], node: ast.AST, frame: Frame) -> None:
    """Of tools that a model is called with, those that its provider runs are asked outside."""
    for tool in tools:
        if isinstance(tool.thing, Table):
            seen = _described(tool.thing.entries)
            if seen.kind is ToolKind.WORLD:
                what = f"{seen.label}: {seen.why}"
                frame.add(Effect(TaintKind.WORLD, "tool", what, frame.module.place(node)))


def tools_given(given: Arguments) -> Sequence[Value]:
    """Tools that a client's call names: `tools=[…]`, or in its `config`."""
    config = given.named.get("config")
    inner = config.thing.entries.get("tools") if config is not None and isinstance(config.thing, Table) else None
    tools = given.named.get("tools") or inner
    return tools.thing.items if tools is not None and isinstance(tools.thing, Items) else ()


def _nested(reader: Reader, label: str, action: Value) -> SeenTool:
    if isinstance(action.thing, GraphValue):
        frame = Frame(reader.nowhere, Scope(), label, 1)
        run_graph(reader, action.thing.graph, ast.Pass(), frame)
        if any(e.kind is TaintKind.WORLD for e in frame.effects):
            return SeenTool(ToolKind.WORLD, label, "its agent asks outside")
    return SeenTool(ToolKind.MODEL, label, "it asks a model")


def _frame(reader: Reader, action: Value) -> Frame:
    return Frame(action.thing.module if isinstance(action.thing, FunctionValue) else reader.nowhere, Scope())


def _function(reader: Reader, label: str, action: Value) -> SeenTool:
    function = action.thing.function.thing if isinstance(action.thing, Partial) else action.thing
    assert isinstance(function, FunctionValue)
    frame = _frame(reader, Value(function))
    if reader.stack.count(function.node) > 0:
        return SeenTool(ToolKind.MODEL, label, "it calls itself")
    directive = function.module.directive(*range(first_line(function.node), function.node.lineno + 1))
    if directive in BY_ROLE:
        return _declared(label, directive)
    named = {p.arg: _given(p) for p in _chosen_by_model(function, action)}
    result = reader.call(action, Arguments([], named), function.node, frame)
    jumps = tuple(v.thing for v in _outcomes(result) if isinstance(v.thing, CommandValue) and v.thing.goto is not None)
    kinds = {e.kind for e in frame.effects}
    effects = tuple(frame.effects)
    first = next((e for e in effects if e.kind in {TaintKind.WORLD, TaintKind.HUMAN}), None)
    if TaintKind.WORLD in kinds and first is not None:
        return SeenTool(ToolKind.WORLD, label, first.what, jumps, effects)
    if TaintKind.HUMAN in kinds:
        return SeenTool(ToolKind.HUMAN, label, "a person answers", jumps, effects)
    if TaintKind.UNKNOWN in kinds:
        return SeenTool(
            ToolKind.UNKNOWN, label, next(e.detail for e in effects if e.kind is TaintKind.UNKNOWN), jumps, effects
        )
    if jumps:
        return SeenTool(ToolKind.HANDOFF, label, "it hands over", jumps, effects)
    if TaintKind.MODEL in kinds:
        return SeenTool(ToolKind.MODEL, label, "it asks a model", jumps, effects)
    if computes(function):
        return SeenTool(ToolKind.WORLD, label, "computes", jumps, effects)
    if _from_application(result):
        return SeenTool(ToolKind.WORLD, label, "what the application gives", jumps, effects)
    echoes = any(t.kind is TaintKind.MODEL for t in deep(result))
    why = "it only gives back what it is given" if echoes else "it always gives back the same"
    return SeenTool(ToolKind.NOTHING, label, why, jumps, effects)


def _from_application(result: Value) -> bool:
    """What it gives back holds something of the context that the application hands to a run."""
    return any(t.kind is TaintKind.FIXED and t.what == CONTEXT for t in deep(result))


CONTEXT = "the context of the run"
HANDED_IN = words("ToolRuntime RunContextWrapper RunContext ToolContext RunnableConfig Runtime InjectedStore")


def _chosen_by_model(function: FunctionValue, action: Value) -> list[ast.arg]:
    arguments = function.node.args
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    skip = {n for n, _ in action.thing.named} if isinstance(action.thing, Partial) else set[str]()
    return [a for a in (found[1:] if function.bound is not None else found) if a.arg not in skip]


def _given(parameter: ast.arg) -> Value:
    """An argument of a tool: the model chooses it, except where the framework hands in the run."""
    annotation = parameter.annotation
    parts = ast.walk(annotation) if annotation is not None else ()
    names = {p.id if isinstance(p, ast.Name) else p.attr for p in parts if isinstance(p, ast.Name | ast.Attribute)}
    if names & HANDED_IN or (annotation is None and parameter.arg in {"runtime", "wrapper"}):
        return Value(Handle(dict.fromkeys(("context", "deps", "store"), _CONTEXT), _nothing))
    return data(ARGUMENT)


_CONTEXT = data(frozenset({Taint(TaintKind.FIXED, what=CONTEXT)}))


def _nothing(name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return data(ARGUMENT)


def _outcomes(value: Value) -> list[Value]:
    match value.thing:
        case Choice(options=choices):
            return [v for option, _ in choices for v in _outcomes(option)]
        case Items():
            return list(value.thing.items)
        case _:
            return [value]


def first_line(node: ast.AST) -> int:
    """The first line of a function, its decorators included."""
    decorators = getattr(node, "decorator_list", [])
    return min([getattr(node, "lineno", 1), *(d.lineno for d in decorators)])


# Running models, chains and tools: what they ask, and what their reply rests on.

RUNS = words(
    """
    invoke ainvoke stream astream batch abatch predict apredict generate agenerate run arun call __call__
    predict_messages complete acomplete chat achat transform atransform astream_events invoke_with_retry forward
    chat_with_tools achat_with_tools stream_chat_with_tools astream_chat_with_tools stream_chat astream_chat
    stream_complete astream_complete structured_predict astructured_predict stream_structured_predict
    predict_and_call apredict_and_call generate_structured generate_str generate_text generate_response
    generate_content agenerate_content chat_completion achat_completion get_completion get_response
    """
)
SEVERAL = frozenset({"batch", "abatch", "stream", "astream", "generate", "astream_events"})
STRUCTURES = frozenset({"with_structured_output", "as_structured_llm", "with_structured_chat"})
FORM = frozenset({Taint(TaintKind.FORM, what="a malformed reply")})
FIELDS = frozenset({Taint(TaintKind.MODEL, "fields")})


def model_reply(label: str, *, structured: bool, node: ast.AST, frame: Frame, inferred: bool = False) -> Value:
    """A model is asked here; its reply."""
    said = f"{label} (taken for a model by its name)" if inferred else label
    frame.add(Effect(TaintKind.MODEL, "", said, frame.module.place(node)))
    frame.risks.add(FORM)
    return data(frozenset({Taint(TaintKind.MODEL, "fields" if structured else "text", label)}))


def call_model(reader: Reader, callee: Value, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """Runs a model, chain, tool or tool node."""
    match callee.thing:
        case ModelValue(label=label, structured=structured, tools=tools, inferred=inferred):
            ask_provided(tools, node, frame)
            return model_reply(label, structured=structured, node=node, frame=frame, inferred=inferred)
        case ChainValue(parts=parts):
            value = given.positional[0] if given.positional else data(given.taints())
            for part in parts:
                value = _part(reader, part, value, node, frame)
            return value
        case ToolValue(label=label, action=action):
            return run_tool(reader, label, action, given, node, frame)
        case ToolNodeValue(tools=tools, why=why):
            for tool in tools or ():
                run_tool(reader, "", tool, Arguments([data(FIELDS)]), node, frame)
            if tools is None:
                frame.add(
                    Effect(TaintKind.UNKNOWN, why or "its tools are not in sight", "tools", frame.module.place(node))
                )
            return data(world("tool", "tools"))
        case _:
            return data(given.taints())


def run_tool(reader: Reader, label: str, action: Value | None, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """Runs a tool, whose arguments a model chose; one that asks nothing outside only gives back what it was given."""
    seen = inspect_tool(reader, Value(ToolValue(label, action)))
    label = label or seen.label
    place = frame.module.place(node)
    match seen.kind:
        case ToolKind.WORLD:
            frame.add(Effect(TaintKind.WORLD, "tool", f"{label}: {seen.why}", place, declared=seen.declared))
            return data(world("tool", label))
        case ToolKind.HUMAN:
            frame.add(Effect(TaintKind.HUMAN, "", label, place, declared=seen.declared))
            return data(frozenset({Taint(TaintKind.HUMAN, what=label)}))
        case ToolKind.UNKNOWN:
            frame.add(Effect(TaintKind.UNKNOWN, seen.why, label, place))
            return data(frozenset({Taint(TaintKind.UNKNOWN, seen.why)}))
        case ToolKind.MODEL:
            frame.add(Effect(TaintKind.MODEL, "", label, place))
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
    return frozenset(Taint(TaintKind.MODEL, "fields", t.what) if t.kind is TaintKind.MODEL else t for t in taints)


def model_method(reader: Reader, owner: Value, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """A method of a model, chain, tool, tool node or function that is used as one of these."""
    thing = owner.thing
    if name in RUNS:
        reply = reader.call(owner, given, node, frame)
        return Value(Items("list", [], reply)) if name in SEVERAL else reply
    if isinstance(thing, ModelValue):
        return _configured(thing, name, given)
    if name in STRUCTURES and isinstance(thing, ChainValue):
        last = thing.parts[-1].thing
        changed = Value(ModelValue(last.label, structured=True)) if isinstance(last, ModelValue) else thing.parts[-1]
        return Value(ChainValue((*thing.parts[:-1], changed)))
    if name == "pipe":
        first = thing.parts if isinstance(thing, ChainValue) else (owner,)
        return Value(ChainValue((*first, *given.positional)))
    if name == "assign":
        return Value(ChainValue((owner, Value(Table(dict(given.named))))))
    if isinstance(thing, FunctionValue | Partial) and name in {"submit", "delay", "remote", "apply_async", "map"}:
        return reader.call(owner, given, node, frame)
    if isinstance(thing, FunctionValue) and name in {"result", "get", "done"}:
        return owner
    return owner


def _configured(model: ModelValue, name: str, given: Arguments) -> Value:
    """A model with tools, a schema, or another setting."""
    if name in STRUCTURES:
        return Value(ModelValue(model.label, structured=True, tools=model.tools, inferred=model.inferred))
    if name in {"bind_tools", "bind_functions", "bind"}:
        tools = given.get(0, "tools", "functions")
        held = tuple(tools.thing.items) if tools is not None and isinstance(tools.thing, Items) else model.tools
        return Value(ModelValue(model.label, structured=model.structured, tools=held, inferred=model.inferred))
    if name == "get_tool_calls_from_response":
        return data(given.taints(), frozenset({Taint(TaintKind.ASK)}))
    if name in {"get_num_tokens", "get_num_tokens_from_messages", "get_token_ids"}:
        return data(given.taints())
    if name in {"model_name", "name", "model"}:
        return const(model.label)
    return Value(model)
