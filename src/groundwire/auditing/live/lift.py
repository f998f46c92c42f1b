"""Turns live objects into the values that reading works with, one attribute at a time and only when asked for."""

from __future__ import annotations

import ast
import enum
import functools
import types
from collections.abc import Callable, Mapping
from typing import Any, cast

from groundwire.auditing.declared_graph import Graph, GraphValue
from groundwire.auditing.live.code import LiveCode
from groundwire.auditing.live.langchain_objects import of_library
from groundwire.auditing.live.names import is_library, line_of_classes, path_of, raw
from groundwire.auditing.reading.reader import SourceReader
from groundwire.auditing.values import (
    Class,
    Function,
    Instance,
    Items,
    Lookup,
    Model,
    ModuleValue,
    Partial,
    Table,
    Value,
    const,
    external,
    unknown,
)

__all__ = ["LiveScope", "ObjectLifter"]

MAX_ITEMS = 200
BINDINGS = frozenset({"RunnableBinding", "RunnableBindingBase", "RunnableRetry"})
MODELS = ("langchain_core.language_models.", "langchain.chat_models.base._ConfigurableModel", "langchain.llms.base.")


class LiveScope:
    """Names of a live function: what it closes over, then its module's."""

    def __init__(self, lifter: ObjectLifter, held: Mapping[str, object], outer: Lookup | None = None) -> None:
        self._lifter, self._held, self._outer = lifter, held, outer
        self._own: dict[str, Value] = {}

    def get(self, name: str) -> Value | None:
        """See `Lookup`."""
        if name in self._own:
            return self._own[name]
        if name in self._held:
            return self._lifter.lift(self._held[name])
        return self._outer.get(name) if self._outer is not None else None

    def put(self, name: str, value: Value) -> None:
        """See `Lookup`. The live object is left as it is."""
        self._own[name] = value


class ObjectLifter:
    """Lifts each object once.

    Args:
        reader: follows the functions that are found.
        read_graph: reads a live graph; given from outside, because graphs hold further objects.
    """

    def __init__(self, reader: SourceReader, read_graph: Callable[[ObjectLifter, object], Graph | None]) -> None:
        self.reader = reader
        self.code = LiveCode(reader.finder, lambda held: LiveScope(self, held))
        self._read_graph = read_graph
        self._known: dict[int, tuple[object, Value]] = {}

    def lift(self, thing: object) -> Value:
        """The value of an object; an object that behaves strangely is unknown."""
        known = self._known.get(id(thing))
        if known is not None:
            return known[1]
        try:
            value = self._lift(thing)
        except (Exception, RecursionError) as error:  # whatever a stranger's descriptor raises
            value = unknown(f"an object that can't be looked at ({type(error).__name__})")
        self._known[id(thing)] = (thing, value)
        return value

    def _lift(self, thing: object) -> Value:
        match thing:
            case None | bool() | int() | float() | str() | bytes():
                if isinstance(thing, enum.Enum):
                    return self.lift(thing.value)
                return const(thing)
            case list() | tuple() | set() | frozenset():
                return self._items(cast("list[object]", thing))
            case dict():
                return self._table(cast("dict[object, object]", thing))
            case enum.Enum():
                return self.lift(thing.value)
            case types.ModuleType():
                return self._module(thing)
            case types.FunctionType():
                return self._function(thing)
            case types.MethodType():
                return self._method(thing)
            case functools.partial():
                part = cast("functools.partial[Any]", thing)
                named = tuple((k, self.lift(v)) for k, v in part.keywords.items())
                return Value(Partial(self.lift(part.func), tuple(self.lift(a) for a in part.args), named))
            case staticmethod() | classmethod():
                return self.lift(cast("Any", thing).__func__)
            case types.BuiltinFunctionType():
                owner = thing.__self__
                if owner is None or isinstance(owner, types.ModuleType):
                    return external(path_of(thing))
                return external(f"{path_of(type(owner))}().{thing.__name__}")
            case type():
                return self._class(thing)
            case _:
                return self._object(thing)

    def _items(self, held: list[object]) -> Value:
        kind = type(held).__name__
        everything = [self.lift(h) for h in list(held)[:MAX_ITEMS]]
        rest = unknown("a list too long to look at") if len(held) > MAX_ITEMS else None
        return Value(Items(kind if kind in {"list", "tuple", "set"} else "set", everything, rest))

    def _table(self, held: dict[object, object]) -> Value:
        entries = {k: self.lift(v) for k, v in list(held.items())[:MAX_ITEMS]}
        return Value(Table(entries, unknown("a dict too large to look at") if len(held) > MAX_ITEMS else None))

    def _module(self, module: types.ModuleType) -> Value:
        file = getattr(module, "__file__", None)
        found = (
            self.code.module(file, vars(module)) if isinstance(file, str) and not is_library(module.__name__) else None
        )
        return Value(ModuleValue(found)) if found is not None else external(module.__name__)

    def _function(self, function: types.FunctionType) -> Value:
        if is_library(function.__module__ or "builtins"):
            return external(path_of(function))
        found = self.code.function(function)
        if found is None:
            return unknown(f"the source of {function.__qualname__} is not at hand")
        node, module = found
        closed = dict(zip(function.__code__.co_freevars, _cells(function), strict=False))
        scope = LiveScope(self, closed, module.scope)
        return Value(
            Function(node, module, scope, name=function.__name__.strip("<>"), defaults=self._defaults(function))
        )

    def _defaults(self, function: types.FunctionType) -> dict[str, Value]:
        code = function.__code__
        places = code.co_varnames[: code.co_argcount]
        given = function.__defaults__ or ()
        defaults = {n: self.lift(v) for n, v in zip(places[len(places) - len(given) :], given, strict=True)}
        return defaults | {n: self.lift(v) for n, v in (function.__kwdefaults__ or {}).items()}

    def _method(self, method: types.MethodType) -> Value:
        function, owner = method.__func__, method.__self__
        if not isinstance(function, types.FunctionType) or is_library(function.__module__ or "builtins"):
            return external(f"{path_of(type(owner))}().{method.__name__}")
        plain = self.lift(function)
        if not isinstance(plain.thing, Function):
            return plain
        found = plain.thing
        return Value(
            Function(found.node, found.module, found.scope, self.lift(owner), name=found.name, defaults=found.defaults)
        )

    def _class(self, cls: type) -> Value:
        if is_library(cls.__module__):
            return external(path_of(cls))
        found = self.code.class_(cls)
        if found is None:
            return external(path_of(cls))
        node, module = found
        bases = getattr(cls, "__orig_bases__", cls.__bases__)
        made = Class(node, module, module.scope, tuple(self.lift(b) for b in bases if b is not object))
        self._known[id(cls)] = (cls, Value(made))
        for name, member in vars(cls).items():
            if not name.startswith("__") or name in {"__init__", "__call__", "__enter__", "__post_init__"}:
                made.members[name] = self._member(member)
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                made.annotations[statement.target.id] = statement.annotation
        return Value(made)

    def _member(self, member: object) -> Value:
        kind = ""
        if isinstance(member, property | functools.cached_property):
            getter = member.fget if isinstance(member, property) else cast("Any", member).func
            member, kind = getter, "property"
        elif isinstance(member, staticmethod | classmethod):
            kind = "static" if isinstance(member, staticmethod) else "class"
            member = cast("Any", member).__func__
        value = self.lift(member)
        if kind and isinstance(value.thing, Function):
            value.thing.kind = kind
        return value

    def _object(self, thing: object) -> Value:
        line = line_of_classes(thing)
        short = {c.rsplit(".", 1)[-1] for c in line}
        graph = self._read_graph(self, thing)
        if graph is not None:
            return Value(GraphValue(graph))
        if short & BINDINGS:
            return self._binding(thing)
        if any(c.startswith(MODELS) for c in line):
            return Value(Model(type(thing).__name__))
        library = of_library(thing, line, short, self)
        if library is not None:
            return library
        cls = type(thing)
        if is_library(cls.__module__):
            return external(f"{path_of(cls)}()")
        held = self.lift(cls)
        if not isinstance(held.thing, Class):
            return external(f"{path_of(cls)}()")
        return Value(Instance(held.thing, missing=lambda name: self._attribute(thing, name)))

    def _binding(self, thing: object) -> Value:
        """A model or chain with settings."""
        inner = self.lift(raw(thing, "bound"))
        settings = raw(thing, "kwargs")
        tools = cast("dict[str, object]", settings).get("tools") if isinstance(settings, dict) else None
        if isinstance(inner.thing, Model) and isinstance(tools, list | tuple):
            held = tuple(self.lift(t) for t in cast("list[object]", tools))
            return Value(Model(inner.thing.label, structured=inner.thing.structured, tools=held))
        return inner

    def _attribute(self, thing: object, name: str) -> Value | None:
        held = raw(thing, name)
        if held is None or isinstance(held, types.FunctionType | staticmethod | classmethod):
            return None
        return self.lift(held)


def _cells(function: types.FunctionType) -> list[object]:
    found: list[object] = []
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:
            found.append(None)
    return found
