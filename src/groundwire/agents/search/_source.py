"""A parsed file by byte spans, and edits as replaced spans, so that nothing else moves.

libcst parses a file once; after that an edit costs a slice and a join, and everything outside of it keeps its bytes.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from string import ascii_letters
from typing import cast

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, CodeSpan, MetadataWrapper

# A parsed file: its syntax nodes with byte spans, so that an edit is a replaced span and nothing else moves.

MAX_SOURCE_BYTES = 1024 * 1024
MAX_CHAIN = 300
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
MAX_DEPTH = 250
# Left out of the walk: layout, and places where an edit can't change what a test sees.
_SKIPPED_FIELDS = frozenset({"annotation", "returns", "type_parameters", "lpar", "rpar"})
_LAYOUT = (cst.BaseParenthesizableWhitespace, cst.EmptyLine, cst.TrailingWhitespace, cst.Newline, cst.Comment)
_STATEMENTS = (cst.SimpleStatementLine, cst.BaseCompoundStatement)


@cache
def _is_a(kind: type[cst.CSTNode], kinds: type[cst.CSTNode] | tuple[type[cst.CSTNode], ...]) -> bool:
    """As `issubclass`, which takes long for libcst's abstract classes, and is asked for every node again and again."""
    return issubclass(kind, kinds)


@dataclass(slots=True, eq=False)
class Site:
    """One syntax node at its place.

    Args:
        node: the node.
        start: first byte, outer parentheses not counted.
        end: the byte after the last one.
        line: 1-based line of the first byte.
        parent: the node around it; None for the module.
        slot: the parent's field that holds it.
        index: its place where that field is a sequence, else 0.
        statement: the innermost statement around it (itself, if it is one); None for the module.
        function: the innermost function around it; the function's own site belongs to what is outside.
        outer: first byte and the byte after the last one, outer parentheses counted.
        children: the nodes below it, in the order of the text.
        asked: how tightly an expression here must bind, once `_precedence` was asked for it.
    """

    node: cst.CSTNode
    start: int
    end: int
    line: int
    parent: Site | None
    slot: str
    index: int
    statement: Site | None
    function: Site | None
    outer: tuple[int, int] = (0, 0)
    children: list[Site] = field(default_factory=list["Site"])
    asked: int | None = None

    def child(self, slot: str) -> Site | None:
        """The child in a field, or None."""
        return next((c for c in self.children if c.slot == slot), None)

    def all(self, slot: str) -> list[Site]:
        """The children in a field that holds a sequence."""
        return [c for c in self.children if c.slot == slot]

    def walk(self) -> Iterator[Site]:
        """Itself and everything below, in the order of the text."""
        waiting: list[Site] = [self]
        while waiting:
            site = waiting.pop()
            yield site
            if site.children:
                waiting.extend(reversed(site.children))

    def above(self) -> Iterator[Site]:
        """Everything around it, from the inside out."""
        site = self.parent
        while site is not None:
            yield site
            site = site.parent

    @property
    def is_expression(self) -> bool:
        """True if it is an expression."""
        return _is_a(type(self.node), cst.BaseExpression)

    @property
    def is_statement(self) -> bool:
        """True if it is a statement line or a compound statement."""
        return _is_a(type(self.node), _STATEMENTS)


class SourceFile:
    """One Python file, parsed.

    Args:
        path: relative POSIX path.
        data: its bytes, UTF-8; of a file that is not, with a letter in the place of each byte beyond ASCII.
        root: the module's site.
        original: its bytes as they are.
        mark: that letter, which stands nowhere else in the file; "" where there is none.
    """

    def __init__(
        self, path: str, data: bytes, root: Site, line_starts: Sequence[int], original: bytes, mark: str = ""
    ) -> None:
        self.path = path
        self.data = data
        self.original = original
        self.mark = mark
        self.root = root
        self._line_starts = line_starts

    @cached_property
    def sites(self) -> list[Site]:
        """All sites, in the order of the text."""
        return list(self.root.walk())

    @cached_property
    def expressions(self) -> list[Site]:
        """All expressions that can be evaluated (no targets, no parameter names), in the order of the text."""
        return [site for site in self.sites if site.is_expression and _is_evaluated(site)]

    @cached_property
    def evaluated(self) -> frozenset[Site]:
        """`expressions`, as a set."""
        return frozenset(self.expressions)

    @cached_property
    def statements(self) -> list[Site]:
        """All statements, in the order of the text."""
        return [site for site in self.sites if site.is_statement]

    @cached_property
    def functions(self) -> list[Site]:
        """All function definitions."""
        return [site for site in self.sites if isinstance(site.node, cst.FunctionDef)]

    @cached_property
    def newline(self) -> str:
        """The file's line ending."""
        return "\r\n" if b"\r\n" in self.data else "\n"

    def text(self, site: Site) -> str:
        """The site's text, outer parentheses left out."""
        return self.data[site.start : site.end].decode()

    def can_take(self, proposal: Proposal) -> bool:
        """False where the edit would touch, or write anew, bytes that can't be read."""
        mark = self.mark.encode()
        return not mark or not any(
            self.mark in splice.text or mark in self.data[splice.start : splice.end] for splice in proposal.splices
        )

    def line_of(self, offset: int) -> int:
        """The 1-based line of a byte offset."""
        return bisect.bisect_right(self._line_starts, offset)

    def line_start(self, line: int) -> int:
        """The first byte of a 1-based line; the end of the file for the line after the last."""
        return self._line_starts[line - 1] if line <= len(self._line_starts) else len(self.data)

    def last_line(self, site: Site) -> int:
        """The 1-based line of the site's last byte."""
        return self.line_of(max(site.start, site.end - 1))

    def indent(self, site: Site) -> str:
        """The whitespace before the site's first line."""
        start = self.line_start(site.line)
        line = self.data[start : self.line_start(site.line + 1)].decode()
        return line[: len(line) - len(line.lstrip(" \t\f"))]

    def first_line(self, statement: Site) -> int:
        """The 1-based line of a statement's first byte, decorators included."""
        return min((s.line for s in statement.all("decorators")), default=statement.line)

    def is_first_on_line(self, site: Site) -> bool:
        """True if only whitespace stands before it on its line."""
        return not self.data[self.line_start(site.line) : site.start].strip()


def parse_source(path: str, data: bytes) -> SourceFile | None:
    """Parses a file; None where it is no Python that can be parsed, too deeply nested, or larger than 1 MiB."""
    if len(data) > MAX_SOURCE_BYTES or not _is_harmless(data):
        return None
    original = data
    data, mark = _readable(original)
    starts = _line_starts(data)
    try:
        module = cst.parse_module(data.decode())
        spans = MetadataWrapper(module, unsafe_skip_copy=True).resolve(ByteSpanPositionProvider)
        root = Site(module, 0, len(data), 1, None, "", 0, None, None, (0, len(data)))
        _grow(root, spans, starts)
    except (UnicodeDecodeError, cst.ParserSyntaxError, RecursionError):
        return None
    return SourceFile(path, data, root, starts, original, mark)


def _readable(data: bytes) -> tuple[bytes, str]:
    """UTF-8 as it is; else with a letter that the file lacks for each byte beyond ASCII, so that no byte moves."""
    try:
        data.decode()
    except UnicodeDecodeError:
        mark = next((letter for letter in ascii_letters if letter.encode() not in data), "")
        return (_BEYOND_ASCII.sub(mark.encode(), data), mark) if mark else (data, "")
    return data, ""


def _is_harmless(data: bytes) -> bool:
    """False for what would overflow the native stack of libcst's parser, which ends the process.

    CPython's own parser refuses deep nesting; only chains of `and` and `or`, flat there, are nested in libcst.
    """
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(len(node.values) <= MAX_CHAIN for node in ast.walk(tree) if isinstance(node, ast.BoolOp))


def _line_starts(data: bytes) -> list[int]:
    starts = [0]
    position = 0
    for line in data.splitlines(keepends=True):
        position += len(line)
        starts.append(position)
    return starts[:-1] if len(starts) > 1 and starts[-1] == len(data) else starts


def _grow(site: Site, spans: Mapping[cst.CSTNode, CodeSpan], starts: Sequence[int], depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise RecursionError
    inner_function = site if isinstance(site.node, cst.FunctionDef) else site.function
    for slot, index, node in _children(site.node):
        span = spans.get(node)
        if span is None:
            continue
        start, end = span.start, span.start + span.length
        line = bisect.bisect_right(starts, start)
        outer = _with_parentheses(node, span, spans)
        child = Site(node, start, end, line, site, slot, index, site.statement, inner_function, outer)
        if child.is_statement:
            child.statement = child
        site.children.append(child)
        _grow(child, spans, starts, depth + 1)


def _with_parentheses(node: cst.CSTNode, span: CodeSpan, spans: Mapping[cst.CSTNode, CodeSpan]) -> tuple[int, int]:
    start, end = span.start, span.start + span.length
    if isinstance(node, cst.BaseExpression) and node.lpar:
        first, last = spans.get(node.lpar[0]), spans.get(node.rpar[-1])
        if first is not None and last is not None:
            return first.start, last.start + last.length
    return start, end


_FIELDS: dict[type[cst.CSTNode], tuple[str, ...]] = {}


def _children(node: cst.CSTNode) -> Iterator[tuple[str, int, cst.CSTNode]]:
    kind = type(node)
    names = _FIELDS.get(kind)
    if names is None:
        declared: dict[str, object] = kind.__dataclass_fields__
        names = tuple(n for n in declared if "whitespace" not in n and n not in _SKIPPED_FIELDS)
        _FIELDS[kind] = names
    for name in names:
        value: object = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            if not isinstance(value, _LAYOUT):
                yield name, 0, value
        elif isinstance(value, (list, tuple)):
            for index, item in enumerate(cast(Sequence[object], value)):
                if isinstance(item, cst.CSTNode) and not isinstance(item, _LAYOUT):
                    yield name, index, item


_NOT_EVALUATED = frozenset(
    {
        (cst.FunctionDef, "name"),
        (cst.ClassDef, "name"),
        (cst.Param, "name"),
        (cst.Attribute, "attr"),
        (cst.Arg, "keyword"),
        (cst.AsName, "name"),
        (cst.NamedExpr, "target"),
        (cst.For, "target"),
        (cst.CompFor, "target"),
    }
)
_NAMING = (cst.Import, cst.ImportFrom, cst.Global, cst.Nonlocal, cst.Decorator, cst.AssignTarget)


def _is_evaluated(site: Site) -> bool:
    if isinstance(site.node, cst.SimpleString) and isinstance(site.parent and site.parent.node, cst.Expr):
        return False  # a docstring
    inner = site
    for outer in site.above():
        if (type(outer.node), inner.slot) in _NOT_EVALUATED or isinstance(outer.node, _NAMING):
            return False
        if outer.is_statement or inner.slot == "slice" or isinstance(outer.node, cst.Call):
            return not any(isinstance(a.node, cst.Decorator) for a in outer.above())
        inner = outer
    return True


# Edits: named replacements of byte spans, and the candidate that a set of them makes.


@dataclass(frozen=True, slots=True)
class Replacement:
    """One replaced span: bytes `start` to `end` become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an operator offers at a site.

    Args:
        name: the operator's stable name, `family.kind`.
        splices: the replaced spans, in order, not overlapping.
        weight: how likely it is among what the same operator offers at the same site; 1 for the most likely.
    """

    name: str
    splices: tuple[Replacement, ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class RankedEdit:
    """A proposal in a file, with its rank.

    Args:
        path: the file.
        proposal: what is replaced.
        line: 1-based line it is blamed on.
        score: larger is tried earlier.
    """

    path: str
    proposal: Proposal
    line: int
    score: float

    @property
    def name(self) -> str:
        """The operator's name."""
        return self.proposal.name


def apply(data: bytes, splices: Iterable[Replacement]) -> bytes:
    """The file with spans replaced; everything outside of them keeps its bytes.

    Args:
        data: the file.
        splices: spans that do not overlap, in any order.
    """
    parts: list[bytes] = []
    position = 0
    for splice in sorted(splices, key=lambda s: (s.start, s.end)):
        parts.append(data[position : splice.start])
        parts.append(splice.text.encode())
        position = splice.end
    parts.append(data[position:])
    return b"".join(parts)


def overlap(first: Sequence[Replacement], second: Sequence[Replacement]) -> bool:
    """True if any span of one meets a span of the other, touching insertions included."""
    return any((a.start < b.end and b.start < a.end) or a.start == b.start for a in first for b in second)


def note(source: SourceFile, edits: Sequence[RankedEdit]) -> str:
    """One line for people: `path:line old → new`, edits joined by a semicolon."""
    return "; ".join(f"{e.path}:{e.line} {_old(source, e)} → {_new(e)}" for e in edits)


def _old(source: SourceFile, edit: RankedEdit) -> str:
    return _short("…".join(source.data[s.start : s.end].decode() for s in edit.proposal.splices)) or "(nothing)"


def _new(edit: RankedEdit) -> str:
    return _short("…".join(s.text for s in edit.proposal.splices)) or "(nothing)"


def _short(text: str, limit: int = 60) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"
