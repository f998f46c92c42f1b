"""Where parentheses are needed: how tightly an expression binds, and how tightly its place asks it to.

Levels after the table "Operator precedence" of the Python language reference, 6.17.
"""

from __future__ import annotations

import libcst as cst

from groundwire.agents.search._source import Site

ANY, LAMBDA, TERNARY, OR, AND, NOT, COMPARISON = range(7)
BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, UNARY, POWER, AWAIT, ATOM = range(7, 17)

_BINARY: dict[type[cst.BaseBinaryOp], int] = {
    cst.BitOr: BIT_OR,
    cst.BitXor: BIT_XOR,
    cst.BitAnd: BIT_AND,
    cst.LeftShift: SHIFT,
    cst.RightShift: SHIFT,
    cst.Add: SUM,
    cst.Subtract: SUM,
    cst.Multiply: PRODUCT,
    cst.MatrixMultiply: PRODUCT,
    cst.Divide: PRODUCT,
    cst.FloorDivide: PRODUCT,
    cst.Modulo: PRODUCT,
    cst.Power: POWER,
}


def binding(node: cst.BaseExpression) -> int:
    """How tightly an expression binds, its own outer parentheses not counted."""
    match node:
        case cst.BinaryOperation():
            return _BINARY.get(type(node.operator), ANY)
        case cst.BooleanOperation():
            return AND if isinstance(node.operator, cst.And) else OR
        case cst.UnaryOperation():
            return NOT if isinstance(node.operator, cst.Not) else UNARY
        case cst.Comparison():
            return COMPARISON
        case cst.IfExp():
            return TERNARY
        case cst.Lambda():
            return LAMBDA
        case cst.Await() | cst.BaseNumber():
            # `1.at` is no attribute of 1
            return AWAIT
        case cst.Tuple() | cst.GeneratorExp() | cst.NamedExpr() | cst.Yield():
            return ANY
        case cst.ConcatenatedString():
            return UNARY
        case _:
            return ATOM


def demand(site: Site) -> int:
    """How tightly an expression at this place, its own parentheses taken away, must bind to need none."""
    if site.asked is None:
        site.asked = _demand(site)
    return site.asked


def _demand(site: Site) -> int:
    node, parent = site.node, site.parent
    if parent is None:
        return LAMBDA
    match parent.node:
        case cst.BinaryOperation():
            return _binary_demand(parent.node, site.slot)
        case cst.BooleanOperation():
            level = AND if isinstance(parent.node.operator, cst.And) else OR
            return level + (site.slot == "right")
        case cst.UnaryOperation():
            return NOT if isinstance(parent.node.operator, cst.Not) else UNARY
        case cst.Comparison() | cst.ComparisonTarget() | cst.StarredElement() | cst.StarredDictElement():
            return BIT_OR
        case cst.Attribute() | cst.Call() | cst.Subscript() | cst.Await():
            return ATOM
        case cst.IfExp():
            return TERNARY if site.slot == "orelse" else OR
        case cst.CompFor() | cst.CompIf():
            return OR
        case cst.Return() | cst.Index():
            return ANY if isinstance(node, cst.Tuple) and not node.lpar else LAMBDA
        case _:
            return LAMBDA


def _binary_demand(node: cst.BinaryOperation, slot: str) -> int:
    level = _BINARY.get(type(node.operator), ANY)
    if level == POWER:
        return AWAIT if slot == "left" else UNARY
    return level + (slot == "right")


def fitted(text: str, level: int, site: Site) -> str:
    """`text`, which binds at `level`, in parentheses where the place asks for them."""
    return text if level >= demand(site) else f"({text})"
