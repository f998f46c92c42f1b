"""Follows statements: names, conditions under which each is reached, and what is asked on the way."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence

from groundwire_audit.reading._binding import assign
from groundwire_audit.reading._conditions import NEVER, Taint, TaintKind, all_of, counts
from groundwire_audit.reading._control_flow import leave_loop, run_if, run_loop, run_match, run_try, run_with
from groundwire_audit.reading._expressions import binary
from groundwire_audit.reading._frames import Arguments, Frame, Returned, control, deep
from groundwire_audit.reading._graph import GraphValue
from groundwire_audit.reading._langgraph_calls import functional
from groundwire_audit.reading._members import concatenated, shrunk
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._values import (
    NONE,
    Bound,
    ClassValue,
    Const,
    External,
    FunctionValue,
    Items,
    Module,
    ModuleValue,
    Scope,
    ToolValue,
    Value,
    const,
    data,
    external,
)

# `def` and `class`: what a name stands for once its decorators are applied.

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
    made = Value(FunctionValue(node, frame.module, scope, name=node.name, defaults=defaults))
    for decorator in reversed(node.decorator_list):
        made = _decorated(reader, decorator, made, frame)
    frame.scope.put(node.name, made)


def _decorated(reader: Reader, decorator: ast.expr, made: Value, frame: Frame) -> Value:
    path = _path_of(reader, decorator, frame)
    last = path.rsplit(".", 1)[-1]
    function = made.thing if isinstance(made.thing, FunctionValue) else None
    if path in KINDS and function is not None:
        function.kind = KINDS[path]
        return made
    if path.startswith("langgraph.func") and last == "entrypoint":
        return functional(reader, made, frame.module.place(decorator))
    if last in {"tool", "StructuredTool", "function_tool"} and path.startswith(
        ("langchain", "langgraph", "smolagents", "crewai", "missing", "agents")
    ):
        label = function.name if function is not None else "tool"
        return Value(ToolValue(_named(reader, decorator, frame) or label, made, needs_person(decorator)))
    if path and not path.startswith("."):
        return made
    callee = reader.value(decorator, frame)
    if isinstance(callee.thing, Bound) and isinstance(callee.thing.owner.thing, GraphValue):
        return reader.call(callee, Arguments([made]), decorator, frame)  # `@agent.tool`
    if isinstance(callee.thing, FunctionValue | ClassValue) or not isinstance(callee.thing, External):
        return reader.call(callee, Arguments([made]), decorator, frame)
    return made


def needs_person(node: ast.AST) -> bool:
    """`needs_approval=True` and the like, in the call that makes a tool."""
    return isinstance(node, ast.Call) and any(
        k.arg in {"needs_approval", "requires_approval", "requires_confirmation"}
        and not (isinstance(k.value, ast.Constant) and not k.value.value)
        for k in node.keywords
    )


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
    made = ClassValue(node, frame.module, frame.scope, bases)
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            made.annotations[statement.target.id] = statement.annotation
        reader.run([statement], body)
    for name, value in scope.names.items():
        made.members[name] = value
    frame.scope.put(node.name, Value(made))


# Import statements: a module beside the target is followed, all others are libraries.

# never looked for beside the target, so that an audit of their own source sees the same names as any other
ALWAYS_LIBRARIES = frozenset(
    {
        "groundwire",
        "langgraph",
        "langchain",
        "langchain_core",
        "langchain_community",
        "pydantic",
        "pydantic_ai",
        "pydantic_graph",
        "crewai",
        "llama_index",
        "typing",
        "__future__",
        "typing_extensions",
    }
)


ALSO_FOLDERS = {"agents": {"Agent", "Runner", "function_tool"}, "workflows": {"Workflow", "step", "Context"}}
"""Libraries that are called like many people's own folders: what such a folder lacks is the library's, and one that
defines all of these names is the library itself."""


def is_library_itself(tree: ast.Module, dotted: str) -> bool:
    """True for the source of such a library, whose names are to mean the same as to everybody else."""
    names = ALSO_FOLDERS.get(dotted)
    if names is None:
        return False
    given = {a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names}
    return names <= given


def is_library(dotted: str) -> bool:
    """True for names that are never somebody's own module."""
    return dotted.split(".")[0] in ALWAYS_LIBRARIES


def run_import(reader: Reader, node: ast.Import, frame: Frame) -> None:
    """`import a.b as c`."""
    for alias in node.names:
        bound = alias.asname or alias.name.split(".")[0]
        wanted = alias.name if alias.asname else bound
        module = reader.import_module(wanted, frame.module)
        if module is None and not is_library(wanted) and reader.finder.is_folder(wanted, importer=frame.module):
            frame.scope.put(bound, external(f"folder:{wanted}"))
        else:
            frame.scope.put(bound, Value(ModuleValue(module)) if module else external(wanted))
        if not alias.asname and "." in alias.name:
            reader.import_module(alias.name, frame.module)


def run_import_from(reader: Reader, node: ast.ImportFrom, frame: Frame) -> None:
    """`from a import b`."""
    dotted = node.module or ""
    module = reader.import_module(dotted, frame.module, node.level) if dotted or node.level else None
    for alias in node.names:
        if alias.name == "*":
            if module is not None and isinstance(module.scope, Scope):
                for name, value in list(module.scope.names.items()):
                    if not name.startswith("_"):
                        frame.scope.put(name, value)
            continue
        frame.scope.put(alias.asname or alias.name, _imported(reader, node, module, alias.name, frame))


def _imported(reader: Reader, node: ast.ImportFrom, module: Module | None, name: str, frame: Frame) -> Value:
    dotted = node.module or ""
    live = _imported_live(reader, node, name)
    if live is not None:
        return live
    if dotted.startswith("langgraph") and name in {"START", "END"}:
        return const("__start__" if name == "START" else "__end__")
    if module is not None:
        found = module.scope.get(name)
        if found is not None:
            return found
    inner = f"{dotted}.{name}" if dotted else name
    if not is_library(dotted) and not (module is None and dotted.split(".")[0] in ALSO_FOLDERS):
        submodule = reader.finder.find(inner, importer=frame.module, level=node.level)
        if submodule is not None:
            reader.read_module(submodule)
            return Value(ModuleValue(submodule))
    if dotted.split(".")[0] in ALSO_FOLDERS and not node.level:
        return external(f"{dotted}.{name}")
    if module is not None:
        return external(f"missing:{module.name}.{name}")
    prefix = f"{'.' * node.level}{dotted}" if node.level else dotted
    return external(f"missing:{prefix}.{name}" if node.level else f"{dotted}.{name}")


def _imported_live(reader: Reader, node: ast.ImportFrom, name: str) -> Value | None:
    """What the name stands for in a module that is imported already, where live objects are read."""
    if reader.live is None or node.level or not node.module:
        return None
    module = sys.modules.get(node.module)
    held = vars(module).get(name) if module is not None else None
    return reader.live.lift(held) if held is not None else None


def run_statements(reader: Reader, body: Sequence[ast.stmt], frame: Frame) -> bool:
    """Follows a block; False if what comes after it is not reached."""
    return all(_statement(reader, statement, frame) for statement in body)


def _statement(reader: Reader, node: ast.stmt, frame: Frame) -> bool:
    reader.step()
    match node:
        case ast.Expr(value=inner):
            reader.value(inner, frame)
        case ast.Assign(targets=targets, value=inner):
            value = _assigned(reader, targets, inner, frame)
            for target in targets:
                assign(reader, target, value, frame)
        case ast.AnnAssign(target=target, value=inner):
            if inner is not None:
                assign(reader, target, reader.value(inner, frame), frame)
        case ast.AugAssign():
            _augmented(reader, node, frame)
        case ast.Return(value=inner):
            value = reader.value(inner, frame) if inner is not None else NONE
            frame.returned.append(Returned(value, frame.here(), frozenset(frame.asked), frame.module.place(node)))
            for loop in frame.loop_stack:
                loop.returned.append(all_of(frame.conditions[loop.base :]))
            return False
        case ast.If():
            return run_if(reader, node, frame)
        case ast.Match():
            return run_match(reader, node, frame)
        case ast.For() | ast.AsyncFor() | ast.While():
            return run_loop(reader, node, frame)
        case ast.Break() | ast.Continue():
            return leave_loop(node, frame)
        case ast.Try() | ast.TryStar():
            return run_try(reader, node, frame)
        case ast.With() | ast.AsyncWith():
            return run_with(reader, node, frame)
        case ast.Raise():
            return _raise(reader, node, frame)
        case ast.Assert(test=test):
            holds = reader.truth(test, frame)
            frame.risks.add(control(holds))
            if holds != NEVER:
                frame.conditions.append(holds)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            run_function(reader, node, frame)
        case ast.ClassDef():
            run_class(reader, node, frame)
        case ast.Import():
            run_import(reader, node, frame)
        case ast.ImportFrom():
            run_import_from(reader, node, frame)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            frame.globals.update(names)
        case ast.Delete(targets=targets):
            _delete(reader, targets, frame)
        case _:
            pass
    return True


def _assigned(reader: Reader, targets: list[ast.expr], node: ast.expr, frame: Frame) -> Value:
    """A value; `i = i + 1` counts, however often it is gone through."""
    value = reader.value(node, frame)
    match node:
        case ast.BinOp(left=ast.Name(id=name), op=ast.Add() | ast.Sub(), right=ast.Constant()) if any(
            isinstance(t, ast.Name) and t.id == name for t in targets
        ):
            return _counted(value, frame)
        case _:
            return value


def _counted(value: Value, frame: Frame) -> Value:
    if isinstance(value.thing, Const) and isinstance(value.thing.value, int):
        return data(value.taints, control(frame.here()), frozenset({Taint(TaintKind.COUNTER)}))
    return value


def _augmented(reader: Reader, node: ast.AugAssign, frame: Frame) -> None:
    load = _as_load(node.target)
    old, more = reader.value(load, frame), reader.value(node.value, frame)
    if isinstance(node.op, ast.Add) and isinstance(more.thing, Items):
        new = concatenated(old, more)
    else:
        new = binary(old, node.op, more)
        if (
            isinstance(more.thing, Const)
            and isinstance(more.thing.value, int)
            and counts(old.taints - control(frame.here()))
        ):
            new = data(deep(new), control(frame.here()), frozenset({Taint(TaintKind.COUNTER)}))
    assign(reader, node.target, new, frame)


def _as_load(target: ast.expr) -> ast.expr:
    match target:
        case ast.Name(id=name):
            return ast.copy_location(ast.Name(name, ast.Load()), target)
        case ast.Attribute(value=owner, attr=name):
            return ast.copy_location(ast.Attribute(owner, name, ast.Load()), target)
        case ast.Subscript(value=owner, slice=key):
            return ast.copy_location(ast.Subscript(owner, key, ast.Load()), target)
        case _:
            return target


def _raise(reader: Reader, node: ast.Raise, frame: Frame) -> bool:
    raised = reader.value(node.exc, frame) if node.exc is not None else None
    here = control(frame.here())
    frame.risks.add(here or (deep(raised) if raised is not None else frozenset[Taint]()))
    return False


def _delete(reader: Reader, targets: list[ast.expr], frame: Frame) -> None:
    for target in targets:
        if isinstance(target, ast.Subscript):
            owner = target.value
            assign(reader, owner, shrunk(reader.value(owner, frame)), frame)
