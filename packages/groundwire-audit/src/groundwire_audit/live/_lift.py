"""Turns live objects into the values that reading works with, one attribute at a time and only when asked for."""

from __future__ import annotations

import ast
import enum
import functools
import sys
import sysconfig
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from groundwire_audit.live._code import LiveCode
from groundwire_audit.reading._graph import DeclaredGraph, GraphValue
from groundwire_audit.reading._knowledge import FAMILIES
from groundwire_audit.reading._reader import Lifter
from groundwire_audit.reading._source_reader import SourceReader
from groundwire_audit.reading._values import (
    ChainValue,
    ClassValue,
    FunctionValue,
    Instance,
    Items,
    Lookup,
    ModelValue,
    ModuleValue,
    Partial,
    Table,
    ToolNodeValue,
    ToolValue,
    Value,
    const,
    external,
    unknown,
)

# What an object is called, and whether it is of a library; by names only, so that no library has to be imported.

ALIASES = {
    "_operator": "operator",
    "posix": "os",
    "nt": "os",
    "_io": "io",
    "_functools": "functools",
    "_asyncio": "asyncio",
}
STDLIB = tuple(str(Path(p)) for p in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")} if p)
INSTALLED = ("site-packages", "dist-packages")


def is_library(module: str) -> bool:
    """True for modules of the interpreter, of installed packages, and those built in."""
    top = module.split(".")[0]
    if FAMILIES.match(top) or top in sys.stdlib_module_names or top in sys.builtin_module_names or top == "groundwire":
        return True
    found = sys.modules.get(module)
    file = getattr(found, "__file__", None)
    if not isinstance(file, str):
        return False
    return any(part in INSTALLED for part in Path(file).parts) or file.startswith(STDLIB)


def path_of(thing: object) -> str:
    """The shortest dotted name under which a function or class of a library can be imported."""
    module = getattr(thing, "__module__", None) or "builtins"
    name = getattr(thing, "__qualname__", None) or getattr(thing, "__name__", "") or type(thing).__name__
    if not isinstance(module, str) or not isinstance(name, str):
        return "unknown"
    module = ALIASES.get(module, module)
    parts, first = module.split("."), name.split(".")[0]
    for size in range(1, len(parts)):
        outer = sys.modules.get(".".join(parts[:size]))
        if outer is not None and "." not in name and vars(outer).get(first) is thing:
            return f"{'.'.join(parts[:size])}.{name}"
    return f"{module}.{name}" if name != "open" else "builtins.open"


def line_of_classes(thing: object) -> list[str]:
    """Dotted names of an object's class and of those it descends from."""
    return [f"{c.__module__}.{c.__qualname__}" for c in type(thing).__mro__]


def raw(thing: object, name: str) -> object:
    """An attribute that is stored, not one that is computed; None if there is none.

    Slots and pydantic's private attributes are stored too.
    """
    stored = _stored(thing)
    if name in stored:
        return stored[name]
    for cls in type(thing).__mro__:
        held = cls.__dict__.get(name)
        if isinstance(held, types.MemberDescriptorType):
            try:
                return held.__get__(thing)
            except AttributeError:
                return None
        if held is not None:
            return None if isinstance(held, property) else held
    return None


def _stored(thing: object) -> Mapping[str, object]:
    # past any __getattribute__ of the object's own class, which would be its code
    body = _held(thing, "__dict__")
    return {**_held(thing, "__pydantic_private__"), **body}


def _held(thing: object, name: str) -> Mapping[str, object]:
    try:
        held: object = object.__getattribute__(thing, name)
    except AttributeError:
        return {}
    return cast("dict[str, object]", held) if isinstance(held, dict) else {}


# Live objects of LangChain and LangGraph, by the name of their class.


def of_library(thing: object, line: list[str], short: set[str], lifter: Lifter) -> Value | None:
    """Runnables, tools and tasks of LangChain and LangGraph, by the name of their class."""
    lift = lifter.lift
    if not any(c.startswith(("langchain", "langgraph")) for c in line):
        return None
    if "ToolNode" in short:
        tools = raw(thing, "_tools_by_name") or raw(thing, "tools_by_name")
        if not isinstance(tools, dict):
            return Value(ToolNodeValue(None))
        return Value(ToolNodeValue(tuple(lift(t) for t in cast("dict[str, object]", tools).values())))
    if "BaseTool" in short:
        return _tool(thing, lifter)
    if "RunnableSequence" in short:
        middle = raw(thing, "middle")
        steps = [
            raw(thing, "first"),
            *(cast("list[object]", middle) if isinstance(middle, list) else []),
            raw(thing, "last"),
        ]
        return Value(ChainValue(tuple(lift(s) for s in steps)))
    if "RunnableParallel" in short:
        held = raw(thing, "steps__")
        return (
            Value(Table({k: lift(v) for k, v in cast("dict[object, object]", held).items()}))
            if isinstance(held, dict)
            else None
        )
    if short & {"RunnableLambda", "RunnableCallable", "_TaskFunction", "RunnableGenerator"}:
        function = raw(thing, "func") or raw(thing, "afunc") or raw(thing, "_transform")
        return lift(function) if function is not None else None
    if "RunnableWithFallbacks" in short:
        return lift(raw(thing, "runnable"))
    if short & {"RunnableConfigurableFields", "RunnableConfigurableAlternatives", "DynamicRunnable"}:
        return lift(raw(thing, "default"))
    return None


def _tool(thing: object, lifter: Lifter) -> Value:
    label = str(raw(thing, "name") or type(thing).__name__)
    function = raw(thing, "func") or raw(thing, "coroutine")
    if function is not None:
        return Value(ToolValue(label, lifter.lift(function)))
    if is_library(type(thing).__module__):
        return Value(ToolValue(label, external(f"{path_of(type(thing))}()")))
    run = vars(type(thing)).get("_run") or vars(type(thing)).get("_arun")
    if isinstance(run, types.FunctionType):
        return Value(ToolValue(label, lifter.lift(types.MethodType(run, thing))))
    return Value(ToolValue(label))


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

    def __init__(
        self, reader: SourceReader, read_graph: Callable[[ObjectLifter, object], DeclaredGraph | None]
    ) -> None:
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
            FunctionValue(node, module, scope, name=function.__name__.strip("<>"), defaults=self._defaults(function))
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
        if not isinstance(plain.thing, FunctionValue):
            return plain
        found = plain.thing
        return Value(
            FunctionValue(
                found.node, found.module, found.scope, self.lift(owner), name=found.name, defaults=found.defaults
            )
        )

    def _class(self, cls: type) -> Value:
        if is_library(cls.__module__):
            return external(path_of(cls))
        found = self.code.class_(cls)
        if found is None:
            return external(path_of(cls))
        node, module = found
        bases = getattr(cls, "__orig_bases__", cls.__bases__)
        made = ClassValue(node, module, module.scope, tuple(self.lift(b) for b in bases if b is not object))
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
        if kind and isinstance(value.thing, FunctionValue):
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
            return Value(ModelValue(type(thing).__name__))
        library = of_library(thing, line, short, self)
        if library is not None:
            return library
        cls = type(thing)
        if is_library(cls.__module__):
            return external(f"{path_of(cls)}()")
        held = self.lift(cls)
        if not isinstance(held.thing, ClassValue):
            return external(f"{path_of(cls)}()")
        return Value(Instance(held.thing, missing=lambda name: self._attribute(thing, name)))

    def _binding(self, thing: object) -> Value:
        """A model or chain with settings."""
        inner = self.lift(raw(thing, "bound"))
        settings = raw(thing, "kwargs")
        tools = cast("dict[str, object]", settings).get("tools") if isinstance(settings, dict) else None
        if isinstance(inner.thing, ModelValue) and isinstance(tools, list | tuple):
            held = tuple(self.lift(t) for t in cast("list[object]", tools))
            return Value(ModelValue(inner.thing.label, structured=inner.thing.structured, tools=held))
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
