"""Follows source: the parts of it are in the modules beside this one, and meet here."""

from __future__ import annotations

import ast
import math
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from groundwire_audit._report import Finding, SourcePlace
from groundwire_audit.reading._calls import call_value
from groundwire_audit.reading._conditions import Formula
from groundwire_audit.reading._expressions import evaluate
from groundwire_audit.reading._files import Code
from groundwire_audit.reading._frames import Arguments, Frame, SeenLoop, truth, wording
from groundwire_audit.reading._graph import DeclaredGraph, DeclaredNode
from groundwire_audit.reading._members import attribute
from groundwire_audit.reading._models import first_line
from groundwire_audit.reading._modules import ModuleFinder
from groundwire_audit.reading._nodes import facts_of_graph
from groundwire_audit.reading._reader import ROLES, Facts, Lifter, TooComplex
from groundwire_audit.reading._statements import ALSO_FOLDERS, is_library, is_library_itself, run_statements
from groundwire_audit.reading._values import FunctionValue, Module, Partial, Scope, Value, unknown

MAX_STEPS = 250_000
NODE_STEPS = 120_000
MODULE_STEPS = 40_000
DEFINITION_STEPS = 2_000
CLOCKED = 0xFF
"""The clock is looked at once in so many steps."""
MAX_DEPTH = 30
DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)


class SourceReader:
    """Follows modules and functions, and collects the graphs that are declared on the way.

    Args:
        finder: finds the source of imported modules.
        max_steps: expressions and statements followed at most, in one file or graph.
        until: the end of all following, on the clock of `time.process_time`: a busy machine reads as much as any other.
    """

    def __init__(self, finder: ModuleFinder, *, max_steps: int = MAX_STEPS, until: float = math.inf) -> None:
        self.finder = finder
        self.nowhere = Module("", Code(Path(), "", ast.Module([], [])))
        self.graphs: list[DeclaredGraph] = []
        self.stack: list[ast.AST] = []
        self.called: set[ast.AST] = set()
        self.seen: dict[SourcePlace, SeenLoop] = {}
        """Functions that were followed with real arguments."""
        self.facts: dict[DeclaredGraph, dict[str, Facts]] = {}
        self.roles: Mapping[str, str] = {}
        """Node or tool → declared role."""
        self.live: Lifter | None = None
        """Looks up modules that are imported already, where live objects are audited."""
        self._used: set[str] = set()
        self._done: set[int] = set()
        self._left = max_steps
        self._until = until

    def step(self) -> None:
        """Counts one expression or statement.

        Raises:
            TooComplex: the budget is used up.
        """
        self._left -= 1
        if self._left < 0 or (self._left & CLOCKED == 0 and self.is_late()):
            raise TooComplex

    def is_late(self) -> bool:
        """The time for all of it is used up."""
        return time.process_time() > self._until

    @contextmanager
    def share(self) -> Generator[None]:
        """See `Reader`."""
        left, self._left = self._left, NODE_STEPS
        try:
            yield
        finally:
            self._left = left

    def refill(self, steps: int = MAX_STEPS) -> None:
        """A new budget, for the next graph or file."""
        self._left = steps

    def facts_of(self, graph: DeclaredGraph) -> Mapping[str, Facts]:
        """See `Reader`."""
        return facts_of_graph(self, graph)

    def read_module(self, module: Module) -> None:
        """Follows a module's statements, once; in a circle of imports, what is there so far counts."""
        if id(module) in self._done or not isinstance(module.scope, Scope):
            return
        self._done.add(id(module))
        frame = Frame(module, module.scope)
        left, self._left = self._left, min(self._left, MODULE_STEPS)
        try:
            for statement in module.code.tree.body:
                try:
                    if self._left > 0 or isinstance(statement, DEFINES):
                        self._left = max(self._left, DEFINITION_STEPS)
                        self.run([statement], frame)
                except (RecursionError, TooComplex):
                    continue  # what comes after it is still defined
        finally:
            self._left = left
            module.loops = frame.loops

    def import_module(self, dotted: str, importer: Module, level: int = 0) -> Module | None:
        """The followed module under a name, or None for a library."""
        if not level and is_library(dotted):
            return None
        found = self.finder.find(dotted, importer=importer, level=level)
        if not level and found is not None:
            top = dotted.split(".")[0]
            root = self.finder.find(top, importer=importer) if top in ALSO_FOLDERS else None
            if root is not None and is_library_itself(root.code.tree, top):
                return None
        if found is not None:
            self.read_module(found)
        return found

    def role_of(self, graph: DeclaredGraph, node: DeclaredNode) -> str:
        """The role that was declared for a node: by name, or in a comment beside it or its function; else empty."""
        for name in (f"{graph.name}/{node.name}", node.name):
            if name in self.roles:
                self._used.add(name)
                return self.roles[name]
        if node.name in graph.declared:
            return graph.declared[node.name] if graph.declared[node.name] in ROLES else ""
        thing = node.action.thing.function.thing if isinstance(node.action.thing, Partial) else node.action.thing
        if isinstance(thing, FunctionValue):
            said = thing.module.directive(*range(first_line(thing.node), thing.node.lineno + 1))
            return said if said in ROLES else ""
        return ""

    def unused_roles(self) -> list[Finding]:
        """Declared roles of nodes and tools that no graph has: most likely misspelt."""
        unused = [n for n in self.roles if n not in self._used]
        return [
            Finding("unused-role", f"A role is declared for {n!r}, and no node or tool is called so.") for n in unused
        ]

    def role_of_tool(self, name: str) -> str:
        """The role that was declared for a tool by its name, or empty."""
        if name in self.roles:
            self._used.add(name)
        return self.roles.get(name, "")

    def run(self, body: Sequence[ast.stmt], frame: Frame) -> bool:
        """Follows statements; False if none after them is reached."""
        return run_statements(self, body, frame)

    def value(self, node: ast.expr, frame: Frame) -> Value:
        """What an expression stands for."""
        self.step()
        return evaluate(self, node, frame)

    def truth(self, node: ast.expr, frame: Frame) -> Formula:
        """When an expression counts as true."""
        return truth(self.value(node, frame), wording(node, frame))

    def call(self, callee: Value, arguments: Arguments, node: ast.AST, frame: Frame) -> Value:
        """What a call gives."""
        self.step()
        if frame.depth > MAX_DEPTH or len(self.stack) > MAX_DEPTH:
            return unknown("calls too deep to follow")
        return call_value(self, callee, arguments, node, frame)

    def attribute(self, owner: Value, name: str, frame: Frame) -> Value:
        """What an attribute stands for."""
        return attribute(self, owner, name, frame)
