"""A graph as it was declared to its builder: nodes, edges, branches; and what reading it found."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from groundwire_audit._report import NOWHERE, Finding, SourcePlace
from groundwire_audit.reading._conditions import Formula
from groundwire_audit.reading._values import ClassValue, Items, StateValue, Thing, Value

if TYPE_CHECKING:
    from groundwire_audit.reading._frames import Arguments, Frame, SeenLoop
    from groundwire_audit.reading._reader import Entry

START = "__start__"
END = "__end__"


@dataclass(slots=True)
class DeclaredNode:
    """A node as declared.

    Args:
        name: its name.
        action: what runs.
        place: where it is added.
        destinations: declared targets of its jumps; None: none are declared.
        human_gate: the run pauses before or after it.
        error_handler: the node that goes on after an exception, or empty.
        enter: how its framework runs it, given the state; None: as LangGraph does.
    """

    name: str
    action: Value
    place: SourcePlace = NOWHERE
    destinations: tuple[str, ...] | None = None
    human_gate: bool = False
    error_handler: str = ""
    enter: Callable[[StateValue], Entry] | None = None


@dataclass(frozen=True, slots=True)
class DeclaredEdge:
    """An edge that is always taken. `joins`: all sources it waits for, itself among them."""

    source: str
    target: str
    place: SourcePlace = NOWHERE
    joins: tuple[str, ...] = ()


@dataclass(slots=True)
class DeclaredBranch:
    """A router.

    Args:
        source: the node after which it runs.
        router: what decides.
        ends: label → node, or None where none are declared.
        place: where it is added.
        hidden_map: a map is declared, and not all of it is in sight.
        opens: node → when it is led to, where a framework decides that itself.
    """

    source: str
    router: Value
    ends: Mapping[object, str] | None
    place: SourcePlace = NOWHERE
    hidden_map: bool = False
    opens: Mapping[str, Formula] | None = None


@dataclass(slots=True, eq=False)
class DeclaredGraph:
    """What was declared to one builder.

    Args:
        name: for people.
        place: where it is made.
        kind: `state`, `message` (the state is one list), `functional`, `agent` (ready-made), `crew` (agents in a row),
            `chat` (agents in turn), `classes` (of pydantic-graph, or a flow or workflow that is a class), `source`
            (loops of a function), `remote`.
        schema: annotations of the state.
        appends: keys to which an update is added.
        body: functional API: the function.
        owner: the class that is the graph.
        handoffs: of an agent: the agents that it can hand over to.
        loops: of `source`: the loops.
    """

    name: str
    place: SourcePlace = NOWHERE
    kind: str = "state"
    nodes: dict[str, DeclaredNode] = field(default_factory=dict[str, DeclaredNode])
    edges: list[DeclaredEdge] = field(default_factory=list[DeclaredEdge])
    branches: list[DeclaredBranch] = field(default_factory=list[DeclaredBranch])
    schema: dict[str, ast.expr] = field(default_factory=dict[str, ast.expr])
    schema_value: Value | None = None
    appends: set[str] = field(default_factory=set[str])
    body: Value | None = None
    owner: ClassValue | None = None
    handoffs: Items | None = None
    method: Callable[[str, Arguments, ast.AST, Frame], Value] | None = None
    """What its methods do, of a framework that puts graphs together in its own way."""
    structured: bool = False
    """Of an agent: it replies in fields."""
    called: str = ""
    """Of an agent: the name that others hand over to it by."""
    loops: tuple[SeenLoop, ...] = ()
    compiled: bool = False
    compiled_at: SourcePlace = NOWHERE
    nested: bool = False
    """It runs inside a node of another graph."""
    aliases: set[str] = field(default_factory=set[str])
    findings: list[Finding] = field(default_factory=list[Finding])
    recursion_limit: int | None = None
    ends: str = ""
    """What ends a loop at the latest where nothing in it does, of another framework than LangGraph."""
    gates: set[str] = field(default_factory=set[str])
    """Nodes before or after which the run pauses for a person; `*`: all."""
    declared: dict[str, str] = field(default_factory=dict[str, str])
    """node → role named in a comment beside it."""


@dataclass(frozen=True, slots=True)
class GraphValue(Thing):
    """A graph: builder or compiled."""

    graph: DeclaredGraph
