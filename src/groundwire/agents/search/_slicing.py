"""The functions that failing tests reach, and backward slices from what they assert.

Static slices: Weiser, "Program slicing", IEEE TSE 10(4), 1984; across functions by their names. Where it is known which
lines a case ran, only these take part, which is the first of the dynamic slices of Agrawal and Horgan, "Dynamic program
slicing", PLDI 1990.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from groundwire.agents.search._flow import Flow, FlowNode, flow_of
from groundwire.agents.search._localise import Line
from groundwire.core._contexts import Coverage
from groundwire.core._signals import CaseOutcome
from groundwire.core._tasks import Task

# The functions of a task's editable files and visible tests, each with its dependences, parsed when needed.

MAX_FILE_BYTES = 256 * 1024
BIG_BYTES = 512 * 1024
"""A project with more source than this is big, tests included."""
_MAKERS = ("__init__", "__new__", "__post_init__")


@dataclass(frozen=True, eq=False)
class ProgramFunction:
    """A function of a file; a module's own statements are one without a name.

    Args:
        path: the file.
        flow: its dependences.
        owner: the class that it is a method of, or empty.
        is_test: True if the file is a test's.
    """

    path: str
    flow: Flow
    owner: str
    is_test: bool


class Program:
    """A task's functions.

    Args:
        task: its Python files of up to 256 KiB take part; those that can't be parsed are left out.
        ran: of a big project the only files that take part; None: that is not known.
    """

    def __init__(self, task: Task, ran: Set[str] | None = None) -> None:
        self._task = task
        self._ran = ran
        self._files: dict[str, list[ProgramFunction]] = {}

    def functions(self, path: str) -> list[ProgramFunction]:
        """The functions of a file, its own statements first; none of a file that takes no part."""
        if path not in self._files:
            self._files[path] = list(self._parsed(path)) if path in self._paths else []
        return self._files[path]

    @cached_property
    def all(self) -> list[ProgramFunction]:
        """The functions of all files."""
        return [function for path in sorted(self._paths) for function in self.functions(path)]

    @cached_property
    def called(self) -> Mapping[str, list[ProgramFunction]]:
        """What a call of a name may run: the functions of that name, and what makes an object of such a class."""
        found: dict[str, list[ProgramFunction]] = defaultdict(list)
        for function in self.all:
            found[function.owner if function.flow.name in _MAKERS else function.flow.name].append(function)
        return found

    def at(self, path: str, line: int) -> Iterator[tuple[ProgramFunction, FlowNode]]:
        """The statements that a line belongs to; one in each function around it."""
        for function in self.functions(path):
            inside = [n for n in function.flow.nodes[1:] if n.first <= line <= n.last]
            if inside:
                yield function, min(inside, key=lambda n: n.last - n.first)

    @cached_property
    def _paths(self) -> frozenset[str]:
        files = self._task.tree.files
        mine = (p for p in files if self._task.may_edit(p) or self._task.is_test(p))
        found = frozenset(p for p in mine if p.endswith(".py") and len(files[p]) <= MAX_FILE_BYTES)
        if self._ran is None or sum(len(files[p]) for p in found) <= BIG_BYTES:
            return found
        return found & self._ran

    def _parsed(self, path: str) -> Iterator[ProgramFunction]:
        is_test = self._task.is_test(path)
        try:
            tree = ast.parse(self._task.tree.files[path])
            yield ProgramFunction(path, flow_of(tree), "", is_test)
            for scope, owner in _defined(tree, ""):
                yield ProgramFunction(path, flow_of(scope), owner, is_test)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return


def _defined(inside: ast.AST, owner: str) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    for node in ast.iter_child_nodes(inside):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node, owner
            yield from _defined(node, "")
        else:
            yield from _defined(node, node.name if isinstance(node, ast.ClassDef) else owner)


# Backward slices from failing assertions: the statements that can have decided what the assertion saw.

MOST_CASES = 20
MAX_MESSAGE_CHARS = 20_000
# a frame as our runners write it; the lengths are bounded, so the search is linear
_FRAME = re.compile(r"^\s+(?P<path>[\w./-]{1,400}):(?P<line>\d{1,7}) in [\w<>]", re.MULTILINE)


class Slicer:
    """Slices a task's tree.

    Args:
        task: its editable files and its visible tests take part.
        coverage: lines of the tree that each case ran; without them slices are static.
    """

    def __init__(self, task: Task, coverage: Coverage | None = None) -> None:
        self._task = task
        self._coverage = coverage or {}
        self._program = Program(task)

    def lines(self, failed: Iterable[CaseOutcome]) -> frozenset[Line]:
        """Editable lines that are in the slice of one of the first failing cases; empty where nothing is known."""
        cases = [*islice(failed, MOST_CASES)]
        self._program = Program(self._task, self._files_of(cases))
        return frozenset(line for case in cases for line in self.of(case))

    def _files_of(self, cases: Iterable[CaseOutcome]) -> Set[str] | None:
        """The files that these cases ran themselves, with those that they lie in; None where one is not known to."""
        found: set[str] = set()
        for case in cases:
            if case.id not in self._coverage:
                return None
            found.update(self._coverage[case.id], [case.id.partition("::")[0]])
        return found

    def of(self, case: CaseOutcome) -> frozenset[Line]:
        """Editable lines in the slice of a failing case; empty where its assertion can't be found."""
        search = _Search(self._program, self._ran(case.id))
        for function, node in self._criteria(case):
            search.add(function, node)
        return frozenset((path, line) for path, line in search.run() if self._task.may_edit(path))

    def _ran(self, case_id: str) -> Mapping[str, frozenset[int]] | None:
        ran = self._coverage.get(case_id)
        if ran is None:
            return None
        imported = self._coverage.get("", {})
        paths = [path for path in self._task.tree.files if self._task.may_edit(path)]
        return {path: frozenset((*ran.get(path, ()), *imported.get(path, ()))) for path in paths}

    def _criteria(self, case: CaseOutcome) -> Iterator[tuple[ProgramFunction, FlowNode]]:
        """Where the slice begins: the statements on the way to the failure, or the whole test where none is told."""
        frames = _FRAME.finditer(case.message[:MAX_MESSAGE_CHARS])
        known = [found for f in frames for found in self._program.at(f["path"], int(f["line"]))]
        yield from known
        if not known:
            path, _, name = case.id.partition("::")
            name = re.split(r"::|\.", name.partition("[")[0])[-1]
            for function in self._program.functions(path):
                if name and function.flow.name == name:
                    yield from ((function, node) for node in function.flow.nodes)


class _Search:
    """One slice, as it grows.

    Args:
        program: what is sliced.
        ran: path → the lines that ran; a path that is missing was not watched; None: nothing was.
    """

    def __init__(self, program: Program, ran: Mapping[str, frozenset[int]] | None) -> None:
        self._program = program
        self._ran = ran
        self._found: set[FlowNode] = set()
        self._pending: list[tuple[ProgramFunction, FlowNode]] = []

    def add(self, function: ProgramFunction, node: FlowNode) -> None:
        """A statement that belongs to the slice, if it ran."""
        if node not in self._found and self._may_have_run(function, node):
            self._found.add(node)
            self._pending.append((function, node))

    def run(self) -> set[Line]:
        """All lines of the slice."""
        lines: set[Line] = set()
        while self._pending:
            function, node = self._pending.pop()
            if node is not function.flow.entry or function.flow.name:
                lines.update((function.path, line) for line in range(node.first, node.last + 1))
            for earlier in (*node.control, *node.data):
                self.add(function, earlier)
            self._into_calls(function, node)
            self._to_other_scopes(function, node)
        return lines

    def _may_have_run(self, function: ProgramFunction, node: FlowNode) -> bool:
        ran = self._ran.get(function.path) if self._ran is not None else None
        return ran is None or node is function.flow.entry or any(n in ran for n in range(node.first, node.last + 1))

    def _into_calls(self, function: ProgramFunction, node: FlowNode) -> None:
        # a test's parameters are calls of its fixtures
        names = node.binds if function.is_test and node is function.flow.entry else node.calls
        for called in (c for name in names for c in self._program.called.get(name, ())):
            given = called.flow.entry.binds
            for inner in called.flow.nodes:
                if inner.result or inner.touches & given:
                    self.add(called, inner)

    def _to_other_scopes(self, function: ProgramFunction, node: FlowNode) -> None:
        """To where attributes were set, and to the module's statements that made what is not made here."""
        own = {name for other in function.flow.nodes for name in other.binds}
        for name in node.uses:
            if name.startswith("."):
                self._makers(self._program.all, name)
            elif name not in own:
                self._makers(self._program.functions(function.path)[:1], name)

    def _makers(self, functions: Iterable[ProgramFunction], name: str) -> None:
        for function in functions:
            for node in function.flow.nodes:
                if name in node.binds or name in node.touches:
                    self.add(function, node)
