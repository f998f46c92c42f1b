"""Graphs that are classes: what a node of pydantic-graph, of a CrewAI flow or of a LlamaIndex workflow is run on."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from groundwire_audit.reading._conditions import NOTHING, Taint, TaintKind
from groundwire_audit.reading._conditions import key as key_of_state
from groundwire_audit.reading._frames import Arguments, Frame
from groundwire_audit.reading._graph import DeclaredGraph
from groundwire_audit.reading._knowledge import words
from groundwire_audit.reading._members import bases, line_of, member
from groundwire_audit.reading._reader import Reader, TooComplex
from groundwire_audit.reading._values import (
    ClassValue,
    Const,
    External,
    FunctionValue,
    Instance,
    Items,
    Opaque,
    Scope,
    Value,
    data,
)

KIND = "classes"
FIXED = frozenset({Taint(TaintKind.FIXED)})
BASES = {
    "pydantic-graph": (frozenset({"BaseNode"}), words("pydantic_graph pydantic_ai")),
    "flow": (frozenset({"Flow"}), words("crewai")),
    "workflow": (frozenset({"Workflow"}), words("llama_index workflows llama_index_workflows")),
}
"""What the base class is called, and the packages that it comes from."""


def framework_of(cls: ClassValue) -> str:
    """Which of the frameworks a class belongs to, by its bases; or empty."""
    for base in bases(cls):
        if isinstance(base.thing, External):
            for name, (called, packages) in BASES.items():
                if is_of(base.thing.path, packages) and base.thing.path.rsplit(".", 1)[-1] in called:
                    return name
    return ""


def is_of(path: str, packages: frozenset[str]) -> bool:
    """True if a dotted name is one of these packages'."""
    return path.removeprefix("missing:").split(".", 1)[0] in packages


def made_of(reader: Reader, cls: ClassValue) -> DeclaredGraph | None:
    """The graph that was declared for a class, or None."""
    return next((g for g in reader.graphs if g.owner is cls), None)


# Objects of a framework whose methods are known here.


def no_methods(name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """Of a handle of which only the attributes mean something."""
    return data(given.taints())


# The object that the methods of a flow or workflow run on: what one of them leaves on it, the next one finds.


@dataclass
class Self:
    """The object of a class that is a graph, as its methods leave it to one another.

    Args:
        cls: the class.
        settled: attributes that only its `__init__` sets.
        changed: attributes that its methods set.
    """

    cls: ClassValue
    settled: dict[str, Value]
    changed: frozenset[str]

    def view(self, more: Mapping[str, Value]) -> Value:
        """The object as one method finds it."""
        held = {name: data(key_of_state(f"{name} of self")) for name in self.changed}
        return Value(Instance(self.cls, {**self.settled, **held, **more}))

    def left(self, view: Value) -> dict[str, Value]:
        """What a method has left on it, as keys of the state."""
        assert isinstance(view.thing, Instance)
        held = view.thing.attributes
        return {f"{n} of self": held[n] for n in self.changed if held[n].taints != key_of_state(f"{n} of self")}


def self_of(reader: Reader, cls: ClassValue) -> Self:
    """Follows `__init__`, and finds what other methods set."""
    made = Instance(cls)
    starter = member(cls, "__init__")
    if starter is not None and isinstance(starter.thing, FunctionValue):
        frame = Frame(cls.module, Scope(cls.scope), "__init__", 1)
        try:
            with reader.share():
                reader.call(reader.attribute(Value(made), "__init__", frame), Arguments(), starter.thing.node, frame)
        except (TooComplex, RecursionError):
            pass
    changed = {
        name
        for method in methods_of(cls).values()
        if method.name != "__init__"
        for name in _set_in(method.node)
        if isinstance(made.attributes.get(name, Value()).thing, Opaque | Const | Items)
    }
    return Self(cls, made.attributes, frozenset(changed))


def _set_in(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        targets = part.targets if isinstance(part, ast.Assign) else [getattr(part, "target", None)]
        for target in targets:
            match target:
                case ast.Attribute(value=ast.Name(id="self"), attr=name):
                    yield name
                case _:
                    continue


def methods_of(cls: ClassValue) -> dict[str, FunctionValue]:
    """Methods of a class and of its bases in sight, in the order in which they are written."""
    found: dict[str, FunctionValue] = {}
    for one in reversed(line_of(cls)):
        found.update({n: m.thing for n, m in one.members.items() if isinstance(m.thing, FunctionValue)})
    return found


def bound_to(function: FunctionValue, holder: Value) -> Value:
    """A method of an object."""
    return Value(
        FunctionValue(
            function.node,
            function.module,
            function.scope,
            holder,
            name=function.name,
            defaults=function.defaults,
        )
    )


def decorators_of(reader: Reader, function: FunctionValue, packages: frozenset[str]) -> dict[str, Sequence[ast.expr]]:
    """Decorators of a framework on a method: last name → arguments as they are written."""
    found: dict[str, Sequence[ast.expr]] = {}
    for decorator in getattr(function.node, "decorator_list", []):
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        thing = reader.value(called, Frame(function.module, Scope(function.scope), depth=2)).thing
        if isinstance(thing, External) and is_of(thing.path, packages):
            found[thing.path.rsplit(".", 1)[-1]] = decorator.args if isinstance(decorator, ast.Call) else ()
    return found


def named_in(reader: Reader, function: FunctionValue, annotation: ast.expr | None) -> list[Value]:
    """All classes that an annotation names: those of `A | B`, `Union["A", B]`, `Annotated[A, …]`."""
    if annotation is None:
        return []
    frame = Frame(function.module, Scope(function.scope), depth=2)
    found: list[Value] = []
    for part in ast.walk(annotation):
        match part:
            case ast.Name() | ast.Attribute():
                found.append(reader.value(part, frame))
            case ast.Constant(value=str(text)):
                try:
                    inner = ast.parse(text, mode="eval").body
                except SyntaxError:
                    continue
                found += named_in(reader, function, inner)
            case _:
                continue
    return found


def class_name_of(value: Value) -> str:
    """The name of a class, or of the class of an object; of a library also."""
    match value.thing:
        case ClassValue(node=node):
            return node.name
        case Instance(of=cls):
            return cls.node.name
        case External(path=path):
            return path.removesuffix("()").rsplit(".", 1)[-1]
        case _:
            return ""


def is_subclass(cls: ClassValue, name: str) -> bool:
    """True if a class or any of its bases is called so."""
    return name in {c.node.name for c in line_of(cls)} | {class_name_of(b) for b in bases(cls)}


def fields_of(cls: ClassValue, key: str) -> dict[str, Value]:
    """Fields of an object that another node made: keys of the state, under one key."""
    names = dict.fromkeys(n for one in line_of(cls) for n in one.annotations)
    return {name: data(key_of_state(f"{key}.{name}")) for name in names}


def parameters_of(function: FunctionValue) -> list[ast.arg]:
    """The parameters after `self`."""
    arguments = function.node.args
    return [*arguments.posonlyargs, *arguments.args][1:]


def nothing() -> Value:
    """Data that rests on nothing."""
    return data(NOTHING)
