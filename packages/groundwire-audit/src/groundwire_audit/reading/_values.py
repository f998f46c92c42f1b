"""What a name in the read source stands for, as far as reading can tell. Nothing here is ever run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from groundwire_audit._report import NOWHERE, SourcePlace
from groundwire_audit.reading._conditions import NOTHING, Formula, Taints, join
from groundwire_audit.reading._conditions import unknown as unknown_taint
from groundwire_audit.reading._files import Code

if TYPE_CHECKING:
    from groundwire_audit.reading._frames import SeenLoop


class Thing:
    """Base of what a value can be."""


@dataclass(frozen=True, slots=True)
class Opaque(Thing):
    """Data of which only the sources are known."""


OPAQUE = Opaque()


@dataclass(frozen=True, slots=True)
class Placeholder(Opaque):
    """A text that is not in sight and yet the same wherever it has this name: a parameter, or a text made of one."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """What it is, and what it rests on."""

    thing: Thing = OPAQUE
    taints: Taints = NOTHING

    def with_taints(self, more: Taints) -> Value:
        """The same thing, resting on more."""
        return Value(self.thing, self.taints | more) if more - self.taints else self


@dataclass(frozen=True, slots=True)
class Const(Thing):
    """A number, text, truth value or None that is written in the source."""

    value: str | int | float | bool | bytes | None


NONE = Value(Const(None))


@dataclass(slots=True, eq=False)
class Items(Thing):
    """A list, tuple or set. `rest` stands for further items, if there may be any."""

    kind: str
    items: list[Value] = field(default_factory=list["Value"])
    rest: Value | None = None

    def any_item(self) -> Value:
        """One that stands for all."""
        everything = [*self.items, *([self.rest] if self.rest else [])]
        return everything[0] if len(everything) == 1 else Value(OPAQUE, join(i.taints for i in everything))


@dataclass(slots=True, eq=False)
class Table(Thing):
    """A dict. `rest` stands for values under unknown keys; `whole_state`: the old state was spread into it."""

    entries: dict[Any, Value] = field(default_factory=dict[Any, "Value"])
    rest: Value | None = None
    whole_state: bool = False


@dataclass(frozen=True, slots=True)
class Choice(Thing):
    """One of several, each under its condition."""

    options: tuple[tuple[Value, Formula], ...]


class Lookup(Protocol):
    """Where names are looked up."""

    def get(self, name: str) -> Value | None:
        """The value under a name, or None."""
        ...

    def put(self, name: str, value: Value) -> None:
        """Binds a name."""
        ...


class Scope:
    """Names of one function, class body or module, and of what encloses it."""

    def __init__(self, outer: Lookup | None = None) -> None:
        self.names: dict[str, Value] = {}
        self.bound_at: dict[str, int] = {}
        """The line on which a name was bound last."""
        self.outer = outer

    def get(self, name: str) -> Value | None:
        """See `Lookup`."""
        found = self.names.get(name)
        return self.outer.get(name) if found is None and self.outer is not None else found

    def put(self, name: str, value: Value) -> None:
        """See `Lookup`."""
        self.names[name] = value


class Module:
    """A file that is being read, with the names it defines.

    Args:
        name: dotted name, as far as it is known.
        code: its syntax tree.
        scope: its names; another scope for a live module.
    """

    def __init__(self, name: str, code: Code, scope: Lookup | None = None) -> None:
        self.name = name
        self.code = code
        self.scope: Lookup = scope if scope is not None else Scope()
        self.loops: list[SeenLoop] = []
        """Loops with a model in them that its own statements run."""
        self.is_package = code.path.name == "__init__.py"

    def place(self, node: ast.AST) -> SourcePlace:
        """Where a piece of it stands."""
        line = getattr(node, "lineno", 0)
        return self.code.place(line, getattr(node, "col_offset", -1) + 1) if line else NOWHERE

    def directive(self, *lines: int) -> str:
        """The role named in a comment on one of these lines, or empty."""
        return next((self.code.directives[n] for n in lines if n in self.code.directives), "")


@dataclass(slots=True, eq=False)
class FunctionValue(Thing):
    """A function whose source is at hand."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    module: Module
    scope: Lookup
    bound: Value | None = None
    kind: str = ""
    """`property`, `static`, `class` or empty."""
    name: str = ""
    defaults: Mapping[str, Value] = field(default_factory=dict[str, "Value"])


@dataclass(slots=True, eq=False)
class ClassValue(Thing):
    """A class whose source is at hand."""

    node: ast.ClassDef
    module: Module
    scope: Lookup
    bases: tuple[Value, ...] = ()
    members: dict[str, Value] = field(default_factory=dict[str, "Value"])
    annotations: dict[str, ast.expr] = field(default_factory=dict[str, ast.expr])


@dataclass(slots=True, eq=False)
class Instance(Thing):
    """An object of such a class."""

    of: ClassValue
    attributes: dict[str, Value] = field(default_factory=dict[str, "Value"])
    missing: Callable[[str], Value | None] | None = None
    """Where attributes of a live object are found."""


@dataclass(frozen=True, slots=True)
class External(Thing):
    """Something of a library or the interpreter. `path`: dotted, `()` where it was called on the way."""

    path: str


@dataclass(frozen=True, slots=True)
class ModuleValue(Thing):
    """A module whose source is at hand."""

    module: Module


@dataclass(frozen=True, slots=True)
class ModelValue(Thing):
    """A language model, or an agent that only talks. `structured`: it replies in fields."""

    label: str
    structured: bool = False
    tools: tuple[Value, ...] = ()
    inferred: bool = False
    """Only its name and how it is called say that it is a model."""


@dataclass(frozen=True, slots=True)
class ChainValue(Thing):
    """Parts that run one after another."""

    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ToolValue(Thing):
    """Something a model may call. `action`: its function, or None where only `label` is known."""

    label: str
    action: Value | None = None
    asks_person: bool = False
    """A person has to allow each call."""


@dataclass(frozen=True, slots=True)
class ToolNodeValue(Thing):
    """Runs the tools a model asked for. `tools`: None where they are not known."""

    tools: tuple[Value, ...] | None
    why: str = ""
    name: str = "tools"
    allowed: frozenset[str] = frozenset()
    """Tools that a person has to allow each time; `*`: all."""


@dataclass(frozen=True, slots=True)
class CommandValue(Thing):
    """A state update with a jump."""

    goto: Value | None
    update: Value | None
    to_parent: bool = False


@dataclass(frozen=True, slots=True)
class SendValue(Thing):
    """A jump with a state of its own."""

    target: Value


@dataclass(slots=True, eq=False)
class StateValue(Thing):
    """The graph's state as a node or router sees it; `written` is what it changed in place."""

    annotations: Mapping[str, ast.expr] = field(default_factory=dict[str, ast.expr])
    written: dict[str, Value] = field(default_factory=dict[str, "Value"])
    resolve: Callable[[ast.expr], Value] | None = None
    """Evaluates an annotation of a key."""
    read: set[str] = field(default_factory=set[str])
    """Keys that were read."""


@dataclass(frozen=True, slots=True)
class Partial(Thing):
    """A call with some arguments given."""

    function: Value
    arguments: tuple[Value, ...]
    named: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Bound(Thing):
    """An attribute of data or of a thing of ours, about to be called."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Handle(Thing):
    """An object that a framework hands in: attributes by name, and what a call of any other of its names gives."""

    attributes: Mapping[str, Value]
    method: Callable[..., Value]
    """Called with the name, `Arguments`, the node and the `Frame`."""


def const(value: str | int | float | bool | bytes | None, taints: Taints = NOTHING) -> Value:
    """A constant."""
    return Value(Const(value), taints)


def external(path: str, taints: Taints = NOTHING) -> Value:
    """A thing of a library."""
    return Value(External(path), taints)


def data(*parts: Taints) -> Value:
    """Data that rests on all of these."""
    return Value(OPAQUE, join(parts))


def unknown(why: str) -> Value:
    """A value of which nothing is known."""
    return Value(OPAQUE, unknown_taint(why))
