"""Equivalence classes of edited files: what reads differently and means the same is judged once.

Only the top-level statements and methods that an edit touches are parsed, so the cost does not grow with the file.
"""

from __future__ import annotations

import ast
import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence

import libcst as cst

from groundwire.agents.search._source import Replacement, SourceFile, apply


class Units:
    """The top-level statements and the methods of a file, each a unit that is parsed on its own.

    Args:
        source: the file.
    """

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        starts = sorted({0, *_unit_starts(source)})
        # what stands above the first statement belongs to it, comments between two to the first of them
        self._bounds = [*starts, len(source.data)]
        self._base: dict[int, str | None] = {}

    def key(self, splices: Sequence[Replacement]) -> str | None:
        """A text that is the same for edits which mean the same; None where the file would not compile or not change.

        Args:
            splices: the edit.
        """
        touched: dict[int, list[Replacement]] = {}
        for splice in splices:
            first, last = self._unit(splice.start), self._unit(max(splice.start, splice.end - 1))
            if first != last:
                return self._whole(splices)
            touched.setdefault(first, []).append(splice)
        keys: list[str] = []
        for unit in sorted(touched):
            start, end = self._bounds[unit], self._bounds[unit + 1]
            moved = [Replacement(s.start - start, s.end - start, s.text) for s in touched[unit]]
            if unit not in self._base:
                self._base[unit] = unit_meaning(self._source.data[start:end])
            if self._base[unit] is None:
                return self._whole(splices)
            found = unit_meaning(apply(self._source.data[start:end], moved))
            if found is None:
                return None
            if found != self._base[unit]:
                keys.append(f"{unit}:{found}")
        return "|".join(keys) or None

    def _unit(self, offset: int) -> int:
        return min(bisect_right(self._bounds, offset) - 1, len(self._bounds) - 2)

    def _whole(self, splices: Sequence[Replacement]) -> str | None:
        found = meaning(apply(self._source.data, splices))
        return None if found is None or found == meaning(self._source.data) else f"all:{found}"


def _unit_starts(source: SourceFile) -> Iterator[int]:
    for site in source.root.children:
        if site.is_statement:
            yield source.line_start(source.first_line(site))
            body = site.child("body") if isinstance(site.node, cst.ClassDef) else None
            for member in body.children if body is not None else ():
                if isinstance(member.node, cst.FunctionDef) and source.is_first_on_line(member):
                    yield source.line_start(source.first_line(member))


def unit_meaning(data: bytes) -> str | None:
    """As `meaning`; a unit that is indented is read as a block."""
    first = next((line for line in data.splitlines() if line.strip() and not line.lstrip().startswith(b"#")), b"")
    return meaning(b"if 1:\n" + data if first[:1].isspace() else data)


def meaning(data: bytes) -> str | None:
    """A digest of what code means, as far as cheap rules can tell; None where it does not compile."""
    try:
        tree = ast.parse(data)
        compile(tree, "<unit>", "exec", dont_inherit=True)
        dump = ast.dump(_Normal().visit(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return hashlib.blake2b(dump.encode(), digest_size=16).hexdigest()


_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_IDEMPOTENT = frozenset(
    {"abs", "sorted", "set", "list", "tuple", "str", "int", "float", "bool", "lower", "upper", "strip"}
)


class _Normal(ast.NodeTransformer):
    """Writes code in one of its equal forms."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:  # ast's own naming
        self.generic_visit(node)
        if len(node.ops) == 1:
            if mirrored := _MIRRORED.get(type(node.ops[0])):
                return ast.Compare(node.comparators[0], [mirrored()], [node.left])
            if isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
                left, right = sorted((node.left, node.comparators[0]), key=ast.dump)
                return ast.Compare(left, node.ops, [right])
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        inner = node.operand
        if isinstance(node.op, ast.Not) and isinstance(inner, ast.Compare) and len(inner.ops) == 1:
            negated = _NEGATED.get(type(inner.ops[0]))
            return ast.Compare(inner.left, [negated()], inner.comparators) if negated else node
        if isinstance(node.op, ast.USub):
            if isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.USub):
                return inner.operand
            if isinstance(inner, ast.Constant) and isinstance(inner.value, (int, float)):
                return ast.Constant(-inner.value)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        right = node.right
        if isinstance(right, ast.Constant) and type(right.value) is int:
            if isinstance(node.op, ast.Sub):
                # a - 1 as a + -1, so that sums of constants meet
                node = ast.BinOp(node.left, ast.Add(), ast.Constant(-right.value))
            node = _summed(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "range" and len(node.args) == 2 and _is(node.args[0], 0):
            return ast.Call(node.func, node.args[1:], [])
        if name in _IDEMPOTENT and len(node.args) == 1 and not node.keywords and isinstance(node.args[0], ast.Call):
            inner = node.args[0]
            if isinstance(inner.func, ast.Name) and inner.func.id == name and not inner.keywords:
                return inner
        return node

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        self.generic_visit(node)
        plain_step = node.step is None or _is(node.step, 1)
        lower = None if plain_step and node.lower is not None and _is(node.lower, 0) else node.lower
        return ast.Slice(lower, node.upper, None if plain_step else node.step)


def _summed(node: ast.BinOp) -> ast.BinOp:
    """`(a + 1) + 2` as `a + 3`."""
    match node:
        case ast.BinOp(
            left=ast.BinOp(left=inner, op=ast.Add(), right=ast.Constant(value=int(first))),
            op=ast.Add(),
            right=ast.Constant(value=int(second)),
        ):
            return ast.BinOp(inner, ast.Add(), ast.Constant(first + second))
        case _:
            return node


def _is(node: ast.expr, value: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == value
