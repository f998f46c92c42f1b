"""`def` and `class`: what a name stands for once its decorators are applied."""

from __future__ import annotations

import ast

from groundwire.auditing.reading.arguments import Arguments
from groundwire.auditing.reading.builders import functional
from groundwire.auditing.reading.frames import Frame
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.values import Class, Const, External, Function, Scope, Tool, Value

__all__ = ["run_class", "run_function"]

KINDS = {
    "builtins.staticmethod": "static",
    "builtins.classmethod": "class",
    "builtins.property": "property",
    "functools.cached_property": "property",
    "pydantic.computed_field": "property",
}


def run_function(reader: Reader, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> None:
    """Binds a function; a decorator of the same source is followed, one of a library is looked up."""
    arguments = node.args
    given = [reader.value(d, frame) for d in arguments.defaults]
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    defaults = dict(zip(names[len(names) - len(given) :], given, strict=True))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            defaults[argument.arg] = reader.value(default, frame)
    scope = frame.scope.outer if frame.of_class and frame.scope.outer is not None else frame.scope
    made = Value(Function(node, frame.module, scope, name=node.name, defaults=defaults))
    for decorator in reversed(node.decorator_list):
        made = _decorated(reader, decorator, made, frame)
    frame.scope.put(node.name, made)


def _decorated(reader: Reader, decorator: ast.expr, made: Value, frame: Frame) -> Value:
    path = _path_of(reader, decorator, frame)
    last = path.rsplit(".", 1)[-1]
    function = made.thing if isinstance(made.thing, Function) else None
    if path in KINDS and function is not None:
        function.kind = KINDS[path]
        return made
    if path.startswith("langgraph.func") and last == "entrypoint":
        return functional(reader, made, frame.module.place(decorator))
    if last in {"tool", "StructuredTool"} and path.startswith(
        ("langchain", "langgraph", "smolagents", "crewai", "missing")
    ):
        label = function.name if function is not None else "tool"
        return Value(Tool(_named(reader, decorator, frame) or label, made))
    if path and not path.startswith("."):
        return made
    callee = reader.value(decorator, frame)
    if isinstance(callee.thing, Function | Class) or not isinstance(callee.thing, External):
        return reader.call(callee, Arguments([made]), decorator, frame)
    return made


def _path_of(reader: Reader, decorator: ast.expr, frame: Frame) -> str:
    """The library name of a decorator, called or not; empty for one of the same source."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    thing = reader.value(node, frame).thing
    return thing.path if isinstance(thing, External) else ""


def _named(reader: Reader, decorator: ast.expr, frame: Frame) -> str:
    if isinstance(decorator, ast.Call) and decorator.args:
        value = reader.value(decorator.args[0], frame)
        if isinstance(value.thing, Const) and isinstance(value.thing.value, str):
            return value.thing.value
    return ""


def run_class(reader: Reader, node: ast.ClassDef, frame: Frame) -> None:
    """Binds a class; its body is followed in a scope of its own."""
    bases = tuple(reader.value(b, frame) for b in node.bases)
    scope = Scope(frame.scope)
    body = Frame(frame.module, scope, node.name, frame.depth, of_class=True)
    made = Class(node, frame.module, frame.scope, bases)
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            made.annotations[statement.target.id] = statement.annotation
        reader.run([statement], body)
    for name, value in scope.names.items():
        made.members[name] = value
    frame.scope.put(node.name, Value(made))
