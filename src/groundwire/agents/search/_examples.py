"""What the visible tests and doctests tell without being run: kinds of arguments and results, and literals."""

from __future__ import annotations

import ast
import doctest
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from groundwire.agents.search._kinds import UNKNOWN, value_kind

MAX_LITERALS = 40
MAX_STRING = 40


@dataclass(frozen=True)
class Examples:
    """Literals of the tests.

    Args:
        arguments: function name → position → kind.
        results: function name → kind it is compared with.
        numbers: numbers, the most frequent first.
        strings: short texts, the most frequent first.
    """

    arguments: Mapping[str, Mapping[int, str]] = field(default_factory=dict[str, Mapping[int, str]])
    results: Mapping[str, str] = field(default_factory=dict[str, str])
    numbers: tuple[int | float, ...] = ()
    strings: tuple[str, ...] = ()


def read_examples(files: Iterable[bytes], documented: Iterable[bytes] = ()) -> Examples:
    """Reads test files, and files with doctests; those that can't be parsed are left out.

    Args:
        files: contents of the visible test files.
        documented: contents of files of which only the doctests count.
    """
    reader = _Reader()
    for data in files:
        if tree := _parsed(data):
            reader.read(tree)
    for data in documented:
        if b">>>" in data and (tree := _parsed(data)):
            for example in _doctests(tree):
                reader.read(example)
    return Examples(
        arguments={name: dict(places) for name, places in reader.arguments.items()},
        results=reader.results,
        numbers=tuple(v for v, _ in reader.numbers.most_common(MAX_LITERALS)),
        strings=tuple(v for v, _ in reader.strings.most_common(MAX_LITERALS)),
    )


def _parsed(source: str | bytes) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _doctests(tree: ast.Module) -> Iterator[ast.Module]:
    """Each example of a docstring, as a comparison where it says what it wants."""
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if not isinstance(text, str) or ">>>" not in text:
            continue
        try:
            examples = doctest.DocTestParser().get_examples(text)
        except ValueError:
            continue
        for example in examples:
            compared = _parsed(f"({example.source.strip()}) == ({example.want.strip()})") if example.want else None
            if found := compared or _parsed(example.source):
                yield found


class _Reader(ast.NodeVisitor):
    def __init__(self) -> None:
        self.arguments: dict[str, dict[int, str]] = {}
        self.results: dict[str, str] = {}
        self.numbers: Counter[int | float] = Counter()
        self.strings: Counter[str] = Counter()

    def read(self, tree: ast.Module) -> None:
        """Takes up what a file tells, as far as it is not nested too deeply."""
        with suppress(RecursionError):
            self.visit(tree)

    def visit_Call(self, node: ast.Call) -> None:  # ast's own naming
        name = _called(node)
        if name:
            places = self.arguments.setdefault(name, {})
            for position, argument in enumerate(node.args):
                kind = _literal_kind(argument)
                if kind and len(kind) > len(places.get(position, UNKNOWN)):
                    places[position] = kind
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for side, other in ((sides[0], sides[1]), (sides[1], sides[0])):
            if isinstance(side, ast.Call) and (name := _called(side)):
                kind = _literal_kind(other)
                if kind and kind != "none" and len(kind) > len(self.results.get(name, UNKNOWN)):
                    self.results[name] = kind
        self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        test = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
        if isinstance(test, ast.Call) and (name := _called(test)):
            self.results.setdefault(name, "bool")
        self.visit(node.test)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, str):
            if len(value) <= MAX_STRING:
                self.strings[value] += 1
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e9:
            self.numbers[value] += 1


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _literal_kind(node: ast.expr) -> str:
    try:
        return value_kind(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return UNKNOWN
