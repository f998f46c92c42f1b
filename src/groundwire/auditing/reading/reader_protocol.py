"""What the parts of reading ask of the reader that brings them together."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Protocol

from groundwire.auditing.conditions import Formula
from groundwire.auditing.declared_graph import Graph, Node
from groundwire.auditing.nodes.facts import Facts
from groundwire.auditing.reading.arguments import Arguments
from groundwire.auditing.reading.frames import Frame
from groundwire.auditing.source.modules import ModuleFinder
from groundwire.auditing.values import Module, Value

__all__ = ["Lifter", "Reader", "TooComplex"]


class TooComplex(Exception):
    """There is more to follow than we are ready to."""


class Lifter(Protocol):
    """Turns live objects into values."""

    def lift(self, thing: object) -> Value:
        """The value of an object."""
        ...


class Reader(Protocol):
    """Follows expressions, statements and calls; each part gets it, and asks it for whatever is another part's."""

    finder: ModuleFinder
    nowhere: Module
    """Where a value that stands in no file is followed."""
    graphs: list[Graph]
    """Those that were declared so far."""
    stack: list[ast.AST]
    """The functions that are being followed, the outermost first."""
    called: set[ast.AST]
    """Functions that were followed with real arguments."""
    facts: dict[Graph, dict[str, Facts]]
    """Those that were read so far; see `facts_of`."""
    live: Lifter | None
    """Looks up modules that are imported already, where live objects are audited."""

    def step(self) -> None:
        """Counts one expression or statement.

        Raises:
            TooComplex: the budget is used up.
        """
        ...

    def run(self, body: Sequence[ast.stmt], frame: Frame) -> bool:
        """Follows statements; False if none after them is reached."""
        ...

    def value(self, node: ast.expr, frame: Frame) -> Value:
        """What an expression stands for."""
        ...

    def truth(self, node: ast.expr, frame: Frame) -> Formula:
        """When an expression counts as true."""
        ...

    def call(self, callee: Value, arguments: Arguments, node: ast.AST, frame: Frame) -> Value:
        """What a call gives."""
        ...

    def attribute(self, owner: Value, name: str, frame: Frame) -> Value:
        """What an attribute stands for."""
        ...

    def facts_of(self, graph: Graph) -> Mapping[str, Facts]:
        """Facts of each node of a graph, read once; of a graph that is being read already, none."""
        ...

    def read_module(self, module: Module) -> None:
        """Follows a module's statements, once; in a circle of imports, what is there so far counts."""
        ...

    def import_module(self, dotted: str, importer: Module, level: int = 0) -> Module | None:
        """The followed module under a name, or None for a library."""
        ...

    def role_of(self, graph: Graph, node: Node) -> str:
        """The role that was declared for a node: by name, or in a comment beside it or its function; else empty."""
        ...

    def role_of_tool(self, name: str) -> str:
        """The role that was declared for a tool by its name, or empty."""
        ...
