"""What tests and patches write out: inputs, and what they are answered by, as values and as `repr` has them.

Read off the source; nothing is run.
"""

from __future__ import annotations

import ast
import doctest
import math
import warnings
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from groundwire.core._tasks import Task

Function = ast.FunctionDef | ast.AsyncFunctionDef
Literals = frozenset[str]
LONG, FAR = 3, 9
"""Letters of a text and size of a number at which no program branches for reasons of its own."""
PLAIN = frozenset({"0", "1", "-1", "''", "None", "True", "False", "0.0", "1.0", "()", "[]", "{}", "b''", "Ellipsis"})
"""Values at which programs branch, and which they give back, for reasons of their own."""
MISSING = frozenset({"''", "None", "()", "[]", "{}", "b''"})
PAIR = 2
MAX_BYTES = 1 << 20
ANSWERS = frozenset({"True", "False", "None"})
SAME = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)
BEGINS = frozenset({"startswith", "endswith"})
MAX_PARTS = 1000
"""Functions, examples and tables of the tests that are read."""


@dataclass(frozen=True)
class _Part:
    """A function, an example or a table of the tests: what it names, and what is written out there."""

    names: frozenset[str]
    held: Literals

    def shows(self, value: str) -> bool:
        """True for a part of a text that is written out there, and for how long something is."""
        said = _read_back(value)
        if isinstance(said, str):
            return any(said in text for text in self._texts)
        return type(said) is int and said in self._lengths

    @cached_property
    def _texts(self) -> list[str]:
        return [said for value in self.held - PLAIN if isinstance(said := _read_back(value), str)]

    @cached_property
    def _lengths(self) -> set[int]:
        return {len(said) for value in self.held - PLAIN if hasattr(said := _read_back(value), "__len__")}


class VisibleTests:
    """The visible tests: what each function, example or table of theirs names, and what is written out there."""

    def __init__(self, task: Task, words: Set[bytes]) -> None:
        self._parts: list[_Part] = []
        files = [
            (path, content, is_test)
            for path, content in task.tree.files.items()
            if path.endswith(".py") and ((is_test := task.is_test(path)) or b">>>" in content)
        ]
        for _, content, is_test in sorted(files, key=lambda f: (not any(word in f[1] for word in words), f[0])):
            if len(self._parts) >= MAX_PARTS:
                break
            if (tree := parsed(content)) is not None:
                (self._read if is_test else self._read_examples)(tree)
        self._held = frozenset[str]().union(*(part.held for part in self._parts))

    def pairs(self, given: Literals, answers: Literals, *, shown: bool) -> bool:
        """True if one of their parts holds all of what is given (or shows it) and all of what is answered."""
        return answers - ANSWERS <= self._held and any(
            answers - ANSWERS <= part.held and all(v in part.held or (shown and part.shows(v)) for v in given)
            for part in self._parts
        )

    def hold(self, values: Literals) -> bool:
        """True if all of these are written out in one of their parts."""
        return any(values <= part.held for part in self._parts)

    def name(self, *names: str) -> bool:
        """True if one of their parts names all of these."""
        return any(part.names.issuperset(names) for part in self._parts)

    def _read(self, tree: ast.Module) -> None:
        for node in tree.body:
            for part in node.body if isinstance(node, ast.ClassDef) else [node]:
                self._parts.append(_Part(names_in(part), literals(part)))

    def _read_examples(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if not isinstance(node, Function | ast.ClassDef | ast.Module) or not (text := ast.get_docstring(node)):
                continue
            try:
                examples = doctest.DocTestParser().get_examples(text)
            except ValueError:
                continue
            for example in examples:
                code, want = parsed(as_bytes(example.source)), parsed(as_bytes(example.want.strip()))
                if code is not None:
                    wanted = literals(want) if want is not None else frozenset({repr(example.want.strip())})
                    self._parts.append(_Part(names_in(code), literals(code) | wanted))


def as_bytes(text: str) -> bytes:
    """A text out of a source, where halves of a surrogate pair may be written."""
    return text.encode("utf-8", "replace")


def parsed(code: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is the business of whoever wrote it
            return ast.parse(code) if len(code) <= MAX_BYTES else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def last_name(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def text_of(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def names_in(tree: ast.AST) -> frozenset[str]:
    return frozenset(last_name(node) for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute))


def literals(tree: ast.AST) -> Literals:
    """All values that are written out below a node, those inside of others too."""
    found: set[str] = set()
    for node in ast.walk(tree):
        found |= written(node) or frozenset()
        found |= _number(text_of(node))
    return frozenset(found)


def _number(text: str) -> Literals:
    """The number that a text is, as programs are given them and print them."""
    try:
        return frozenset({repr(int(text))})
    except ValueError:
        return frozenset()


def written(node: ast.AST | None) -> Literals | None:
    """A value that is written out; None for anything else."""
    if not isinstance(node, ast.expr):
        return None
    try:
        return frozenset({repr(ast.literal_eval(node))})
    except (ValueError, TypeError, SyntaxError, OverflowError, MemoryError, RecursionError):
        return None


def asked(test: ast.expr) -> Literals:
    """The values that a condition asks for one by one."""
    found: set[str] = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and all(isinstance(op, SAME) for op in node.ops):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and last_name(node.func) in BEGINS:
            sides = node.args
        else:
            continue
        for side in sides:
            if isinstance(side, ast.Constant | ast.UnaryOp | ast.Tuple | ast.List | ast.Set | ast.Dict):
                found = found.union(*(written(n) or () for n in ast.walk(side) if isinstance(n, ast.Constant)))
    return frozenset(found)


def answered(node: ast.AST) -> Iterator[tuple[Literals, Literals | None]]:
    """What a branch asks for, and what it gives back, where that is written out."""
    if isinstance(node, ast.If | ast.IfExp):
        kinds = {type(part) for part in ast.walk(node.test)}
        denied = not kinds.isdisjoint((ast.NotEq, ast.NotIn, ast.IsNot, ast.Not))
        is_asked = not denied or not kinds.isdisjoint((ast.Eq, ast.In, ast.Is, ast.Not))
        for branch in (*([node.body] if is_asked else []), *([node.orelse] if denied else [])):
            yield asked(node.test), written_out(branch if isinstance(branch, list) else [branch])
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        yield asked(node), written(node.values[-1])
    elif isinstance(node, ast.match_case):
        yield literals(node.pattern), written_out(node.body)


def entries(node: ast.AST) -> Sequence[tuple[ast.AST | None, ast.AST]]:
    """The entries of a table, by what is looked for."""
    if isinstance(node, ast.Dict):
        return list(zip(node.keys, node.values, strict=True))
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return [(node.targets[0].slice, node.value)]
    if isinstance(node, ast.List | ast.Tuple):
        rows = [row.elts for row in node.elts if isinstance(row, ast.Tuple | ast.List)]
        of_pairs = len(rows) == len(node.elts) and all(len(row) == PAIR for row in rows)
        return [(row[0], row[1]) for row in rows] if of_pairs else []
    if text := text_of(node):  # data that is written out as text
        data = parsed(as_bytes(text)) if text.lstrip()[:1] in ("{", "[") else None
        return entries(data.body[0].value) if data and isinstance(data.body[0], ast.Expr) else []
    return []


def written_out(body: Sequence[ast.AST]) -> Literals | None:
    """The values that statements give back or assign, where they do nothing else; None where they do."""
    found: set[str] = set()
    for node in body:
        value: ast.AST | None = node
        if isinstance(node, ast.Return | ast.Assign | ast.AnnAssign):
            value = node.value if node.value is not None else ast.Constant(None)
        elif isinstance(node, ast.Expr):
            value = node.value
            if isinstance(value, ast.Call) and last_name(value.func) == "print" and len(value.args) == 1:
                value = value.args[0]
        elif isinstance(node, ast.Pass | ast.Continue | ast.Break):
            value = ast.Constant(None)
        elif isinstance(node, ast.stmt):
            return None
        values = written(value)
        if values is None:
            return None
        found |= values
        if isinstance(node, ast.Return):
            break
    return frozenset(found)


def _read_back(value: str) -> Any:
    """What was written out; infinity can't be."""
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return math.inf


def is_far(value: str) -> bool:
    said = _read_back(value)
    if isinstance(said, int | float | complex):
        return abs(said) > FAR
    return not hasattr(said, "__len__") or len(said) >= LONG
