"""Whether a tool brings anything from outside: its function is followed, a library's is looked up."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import StrEnum

from groundwire.auditing.declared_graph import GraphValue
from groundwire.auditing.knowledge.lookup import class_name, describe
from groundwire.auditing.reading.arguments import Arguments
from groundwire.auditing.reading.frames import Effect, Frame
from groundwire.auditing.reading.graph_methods import run_graph
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.taints import Kind, Taint, reason
from groundwire.auditing.values import (
    Choice,
    Class,
    Command,
    Const,
    External,
    Function,
    Instance,
    Items,
    Model,
    Partial,
    Scope,
    Table,
    Tool,
    Value,
    data,
)
from groundwire.auditing.words import words

__all__ = ["SeenTool", "ToolKind", "inspect_tool"]

ARGUMENT = frozenset({Taint(Kind.MODEL, "fields", "its argument")})
COMPUTING_CALLS = words("get now today sorted sum max min round sqrt eval strftime choice randint")


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
    jumps: tuple[Command, ...] = ()
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
        case Tool(label="", action=action) if action is not None:
            return _label(action)
        case Tool(label=label):
            return label
        case Function(name=name):
            return name
        case _:
            return ""


def _declared(label: str, role: str) -> SeenTool:
    return SeenTool(BY_ROLE[role], label, f"declared {role}", declared=f"{label} ({role})")


def _inspected(reader: Reader, value: Value) -> SeenTool:
    match value.thing:
        case Tool(label=label, action=None):
            return SeenTool(ToolKind.UNKNOWN, label, f"what the tool {label} does is not in sight")
        case Tool(label=label, action=action) if action is not None:
            return _action(reader, label, action)
        case Choice(options=choices):
            seen = [inspect_tool(reader, v) for v, _ in choices]
            return next((s for s in seen if s.kind is ToolKind.WORLD), seen[0])
        case _:
            return _action(reader, "", value)


def _action(reader: Reader, label: str, action: Value) -> SeenTool:
    match action.thing:
        case Function(name=name):
            return _function(reader, label or name, action)
        case Partial(function=function) if isinstance(function.thing, Function):
            return _function(reader, label or function.thing.name, action)
        case Tool():
            return inspect_tool(reader, action)
        case External(path=path):
            return _library(label or class_name(path), path)
        case Command():
            return SeenTool(ToolKind.HANDOFF, label, "it hands over", (action.thing,))
        case Class(node=node):
            return SeenTool(ToolKind.NOTHING, label or node.name, "it is only a schema")
        case Table(entries=entries):
            return _described(entries)
        case Model() | GraphValue():
            return _nested(reader, label or "agent", action)
        case Instance(of=cls):
            call = reader.attribute(action, "__call__", _frame(reader, action))
            if isinstance(call.thing, Function):
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


def _described(entries: dict[object, Value]) -> SeenTool:
    kind = entries.get("type")
    name = kind.thing.value if kind is not None and isinstance(kind.thing, Const) else ""
    if isinstance(name, str) and any(
        word in name for word in ("search", "interpreter", "computer", "execution", "fetch", "mcp", "bash")
    ):
        return SeenTool(ToolKind.WORLD, name, "run by the provider")
    return SeenTool(ToolKind.NOTHING, "schema", "it is only a schema")


def _nested(reader: Reader, label: str, action: Value) -> SeenTool:
    if isinstance(action.thing, GraphValue):
        frame = _frame(reader, action)
        run_graph(reader, action.thing.graph, ast.Pass(), frame)
        if any(e.kind is Kind.WORLD for e in frame.effects):
            return SeenTool(ToolKind.WORLD, label, "its agent asks outside")
    return SeenTool(ToolKind.MODEL, label, "it asks a model")


def _frame(reader: Reader, action: Value) -> Frame:
    return Frame(action.thing.module if isinstance(action.thing, Function) else reader.nowhere, Scope())


def _function(reader: Reader, label: str, action: Value) -> SeenTool:
    function = action.thing.function.thing if isinstance(action.thing, Partial) else action.thing
    assert isinstance(function, Function)
    frame = _frame(reader, Value(function))
    if reader.stack.count(function.node) > 0:
        return SeenTool(ToolKind.MODEL, label, "it calls itself")
    directive = function.module.directive(*range(first_line(function.node), function.node.lineno + 1))
    if directive in BY_ROLE:
        return _declared(label, directive)
    named = {p.arg: data(ARGUMENT) for p in _chosen_by_model(function, action)}
    result = reader.call(action, Arguments([], named), function.node, frame)
    jumps = tuple(v.thing for v in _outcomes(result) if isinstance(v.thing, Command) and v.thing.goto is not None)
    kinds = {e.kind for e in frame.effects}
    effects = tuple(frame.effects)
    first = next((e for e in effects if e.kind in {Kind.WORLD, Kind.HUMAN}), None)
    if Kind.WORLD in kinds and first is not None:
        return SeenTool(ToolKind.WORLD, label, first.what, jumps, effects)
    if Kind.HUMAN in kinds:
        return SeenTool(ToolKind.HUMAN, label, "a person answers", jumps, effects)
    if Kind.UNKNOWN in kinds:
        return SeenTool(
            ToolKind.UNKNOWN, label, next(e.detail for e in effects if e.kind is Kind.UNKNOWN), jumps, effects
        )
    if jumps:
        return SeenTool(ToolKind.HANDOFF, label, "it hands over", jumps, effects)
    if Kind.MODEL in kinds:
        return SeenTool(ToolKind.MODEL, label, "it asks a model", jumps, effects)
    if computes(function.node):
        return SeenTool(ToolKind.WORLD, label, "computes", jumps, effects)
    return SeenTool(ToolKind.NOTHING, label, "it only gives back what it is given", jumps, effects)


def _chosen_by_model(function: Function, action: Value) -> list[ast.arg]:
    arguments = function.node.args
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    skip = {n for n, _ in action.thing.named} if isinstance(action.thing, Partial) else set[str]()
    return [a for a in (found[1:] if function.bound is not None else found) if a.arg not in skip]


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


def computes(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """True if a function works something out of its arguments, rather than giving them back in other words."""
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    for statement in body:
        for part in ast.walk(statement):
            match part:
                case ast.BinOp(op=ast.Add(), left=left, right=right) if _texts(left) or _texts(right):
                    continue
                case ast.BinOp(op=ast.Mod(), left=left) if _texts(left):
                    continue
                case ast.BinOp() | ast.Compare() | ast.For() | ast.While() | ast.ListComp() | ast.Match():
                    return True
                case ast.Subscript(value=ast.Name(), ctx=ast.Load()) if not isinstance(part.slice, ast.Constant):
                    return True
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in COMPUTING_CALLS:
                    return True
                case _:
                    continue
    return False


def _texts(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
