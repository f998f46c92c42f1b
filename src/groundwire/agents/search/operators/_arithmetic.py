"""Arithmetic: other operators, exchanged and dropped operands, other grouping, a term too much or too few."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._kinds import NUMBERS, base, fit
from groundwire.agents.search._precedence import PRODUCT, SUM, UNARY, binding
from groundwire.agents.search._source import Proposal, Replacement, Site
from groundwire.agents.search.operators._base import Operator, delimited, exchange, replace

_SWAPS: dict[str, tuple[tuple[str, float], ...]] = {
    "+": (("-", 1.0), ("*", 0.5), ("//", 0.15), ("/", 0.15), ("%", 0.15), ("**", 0.1)),
    "-": (("+", 1.0), ("%", 0.3), ("*", 0.3), ("//", 0.25), ("/", 0.2), ("**", 0.1)),
    "*": (("+", 0.7), ("/", 0.7), ("**", 0.6), ("//", 0.5), ("-", 0.2), ("%", 0.2)),
    "/": (("//", 1.0), ("*", 0.9), ("%", 0.5), ("-", 0.15), ("+", 0.15)),
    "//": (("/", 1.0), ("%", 1.0), ("*", 0.5), ("-", 0.15), ("+", 0.15)),
    "%": (("//", 1.0), ("/", 0.7), ("-", 0.3), ("*", 0.3), ("+", 0.2)),
    "**": (("*", 1.0), ("+", 0.3), ("//", 0.2), ("/", 0.2), ("%", 0.2), ("-", 0.2)),
    "&": (("|", 1.0), ("^", 0.8), ("-", 0.3)),
    "|": (("&", 1.0), ("^", 0.8), ("+", 0.2)),
    "^": (("|", 0.8), ("&", 0.8), ("**", 0.8)),
    "<<": ((">>", 1.0),),
    ">>": (("<<", 1.0),),
}
_SET_SIGNS = frozenset({"&", "|", "^", "-"})
_LEVELS = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT}
_NOT_COMMUTATIVE = ("-", "/", "//", "%", "**", "<<", ">>")
_CONTAINERS = ("str", "list", "tuple")


def _binary_swap(site: Site, scene: EditContext) -> Iterator[Proposal]:
    operator, left, right = site.child("operator"), site.child("left"), site.child("right")
    if operator is None or left is None or right is None:
        return
    sign = scene.source.text(operator).strip()
    kinds = [base(scene.kind(s)) for s in (left, right)]
    for new, weight in _SWAPS.get(sign, ()):
        scale = 0.1 if any(kind in _CONTAINERS for kind in kinds) and not _takes(kinds, new) else 1.0
        # the new operator may bind differently from the old one: keep the operands' grouping
        whole = f"{_operand(left, new, 0, scene)} {new} {_operand(right, new, 1, scene)}"
        if new in _LEVELS and sign in _LEVELS and _LEVELS[new] == _LEVELS[sign]:
            yield delimited("arith.swap", operator, new, weight * scale)
        else:
            yield replace(
                "arith.swap", site, whole, _LEVELS.get(new, SUM if new in _SET_SIGNS else UNARY), weight * scale
            )


def _takes(kinds: list[str], sign: str) -> bool:
    """True where texts and lists take the operator: they are put together, repeated and formatted, and nothing else."""
    left, right = kinds
    if sign == "+":
        return left == right or not (left and right)
    return (sign == "*" and (left in NUMBERS or right in NUMBERS)) or (sign == "%" and left == "str")


def _operand(site: Site, sign: str, extra: int, scene: EditContext) -> str:
    text = scene.source.text(site)
    node = site.node
    assert isinstance(node, cst.BaseExpression)
    if binding(node) >= UNARY + 2 or (sign in _LEVELS and binding(node) >= _LEVELS[sign] + extra):
        return text
    return f"({text})"


def _augmented_swap(site: Site, scene: EditContext) -> Iterator[Proposal]:
    operator, value, target = site.child("operator"), site.child("value"), site.child("target")
    if operator is None or value is None or target is None:
        return
    sign = scene.source.text(operator).strip()
    for new, weight in _SWAPS.get(sign.removesuffix("="), ()):
        yield delimited("arith.swap", operator, f"{new}=", weight)
    yield delimited("assign.plain", operator, "=", 1.0)
    if sign == "+=":
        text, name = scene.source.text(value), scene.source.text(target)
        yield Proposal("assign.reversed", (Replacement(site.start, site.end, f"{name} = {text} + {name}"),))


IN_A_LOOP = 4.0
"""How much likelier it is in a loop that what is overwritten should add up; a guess."""


def _accumulate(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`total = x` → `total += x`: what should add up is overwritten."""
    targets, value = site.all("targets"), site.child("value")
    target = targets[0].child("target") if len(targets) == 1 else None
    if target is None or value is None or isinstance(target.node, (cst.Tuple, cst.List)):
        return
    name, text = scene.source.text(target), scene.source.text(value)
    # an element or attribute exists before it is overwritten more often than a name does; in a loop it may add up
    looped = any(isinstance(a.node, (cst.For, cst.While)) and a.function is site.function for a in site.above())
    weight = (0.6 if isinstance(target.node, cst.Name) else 1.0) * (IN_A_LOOP if looped else 1.0)
    for sign, share in (("+=", 1.0), ("-=", 0.4), ("*=", 0.2)):
        yield Proposal(
            "assign.accumulate", (Replacement(site.start, site.end, f"{name} {sign} {text}"),), weight * share
        )


def _operands(site: Site, scene: EditContext) -> Iterator[Proposal]:
    operator, left, right = site.child("operator"), site.child("left"), site.child("right")
    if operator is None or left is None or right is None:
        return
    sign = scene.source.text(operator).strip()
    ordered = sign in _NOT_COMMUTATIVE or base(scene.kind(site)) not in NUMBERS
    if ordered:
        yield exchange("arith.operands", left, right, scene, 1.0 if sign in _NOT_COMMUTATIVE else 0.7)


def _regroup(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`a - b // c` → `(a - b) // c` and `(a - b) // c` → `a - b // c`."""
    left, right = site.child("left"), site.child("right")
    data = scene.source.data
    if right is not None and isinstance(right.node, cst.BinaryOperation) and not right.node.lpar:
        inner = right.child("left")
        if inner is not None:
            first, rest = data[site.start : inner.end].decode(), data[inner.end : site.end].decode()
            yield replace("arith.regroup", site, f"({first}){rest}", binding(right.node))
    if left is not None and isinstance(left.node, cst.BinaryOperation):
        if left.node.lpar:
            opened = (
                data[site.start : site.end].decode().replace(f"({scene.source.text(left)})", scene.source.text(left), 1)
            )
            yield replace("arith.regroup", site, opened, SUM)
        inner = left.child("right")
        if inner is not None and not left.node.lpar:
            head, tail = data[site.start : inner.start].decode(), data[inner.start : site.end].decode()
            yield replace("arith.regroup", site, f"{head}({tail})", binding(left.node), 0.7)


def _sign(site: Site, scene: EditContext) -> Iterator[Proposal]:
    if base(scene.kind(site)) not in ("int", "float"):
        return
    if isinstance(site.node, cst.UnaryOperation):
        inner = site.child("expression")
        if inner is not None and isinstance(site.node.operator, cst.Minus):
            yield replace("arith.sign", site, scene.source.text(inner), binding(site.node.expression))
    elif site.slot not in ("func", "value") or _is_whole(site):
        yield replace("arith.sign", site, f"-{scene.source.text(site)}", UNARY, 0.5)


def _is_whole(site: Site) -> bool:
    return site.parent is not None and isinstance(
        site.parent.node, (cst.Return, cst.Assign, cst.Arg, cst.Index, cst.Element)
    )


_TERMS: tuple[tuple[str, float], ...] = (
    ("+ 1", 1.0), ("- 1", 0.9), ("* 2", 0.25), ("// 2", 0.35), ("/ 2", 0.35), ("+ 2", 0.15), ("- 2", 0.15),
    ("** 2", 0.2), ("% 2", 0.2), ("** 3", 0.08), ("* 10", 0.05), ("% 10", 0.1), ("// 10", 0.1), ("/ 10", 0.05),
)  # fmt: skip
_TERM_LEVEL = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT}


def _add_term(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """A term that was forgotten: `n` → `n + 1`."""
    kind = base(scene.kind(site))
    if kind not in ("int", "float", "") or isinstance(site.node, (cst.Integer, cst.Float, cst.BooleanOperation)):
        return
    if site.slot in ("func", "keyword") or isinstance(site.node, (cst.Comparison, cst.Tuple, cst.Lambda, cst.IfExp)):
        return
    if (
        site.slot == "value"
        and site.parent is not None
        and isinstance(site.parent.node, (cst.Attribute, cst.Subscript, cst.Expr))
    ):
        return
    if kind == "" and isinstance(site.node, (cst.BaseComp, cst.BaseList, cst.BaseDict, cst.BaseSet)):
        return
    text, node = scene.source.text(site), site.node
    assert isinstance(node, cst.BaseExpression)
    known = 1.0 if kind else 0.4
    place = _place_weight(site)
    for term, weight in _TERMS:
        sign = term.split(" ", 1)[0]
        if sign == "**":
            inner = text if binding(node) > UNARY + 1 else f"({text})"
            yield replace("arith.add_term", site, f"{inner} {term}", UNARY, weight * known * place)
        else:
            level = _TERM_LEVEL[sign[0]]
            inner = text if binding(node) >= level else f"({text})"
            yield replace("arith.add_term", site, f"{inner} {term}", level, weight * known * place)


MAX_OPERANDS = 6


def _add_operand(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """An operand that was forgotten: `x` → `x + y`, `y + x`, `x - y`, `'a' + x`."""
    kind = base(scene.kind(site))
    if kind not in ("int", "float", "str", "list", "") or not _is_whole(site):
        return
    if not isinstance(site.node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.SimpleString, cst.BaseList)):
        return
    text = scene.source.text(site)
    if "\n" in text or text in ("True", "False", "None"):
        return
    if not kind and isinstance(site.parent and site.parent.node, cst.Arg):
        return
    known = 1.0 if kind else 0.4
    for position, variable in enumerate([v for v in scene.visible(site) if v.name != text][:MAX_OPERANDS]):
        weight = known * fit(kind, variable.kind) * 0.85**position
        yield replace("arith.add_operand", site, f"{text} + {variable.name}", SUM, weight)
        if kind in NUMBERS or not kind:
            yield replace("arith.add_operand", site, f"{text} - {variable.name}", SUM, 0.5 * weight)
        if kind not in NUMBERS:
            yield replace("arith.add_operand", site, f"{variable.name} + {text}", SUM, 0.7 * weight)
    for position, borrowed in enumerate(scene.vocabulary.strings()[:MAX_OPERANDS] if kind == "str" else ()):
        weight = 0.4 * known * 0.85**position
        yield replace("arith.add_operand", site, f"{text} + {borrowed!r}", SUM, weight)
        yield replace("arith.add_operand", site, f"{borrowed!r} + {text}", SUM, weight)


def _place_weight(site: Site) -> float:
    """A term is forgotten most often in bounds and indexes."""
    for outer in site.above():
        match outer.node:
            case cst.Index() | cst.Slice() | cst.Arg() | cst.Return():
                return 1.0
            case cst.Call() | cst.BinaryOperation() | cst.SubscriptElement():
                continue
            case _:
                return 0.5
    return 0.5


TOKENS = (Operator((cst.BinaryOperation,), _binary_swap), Operator((cst.AugAssign,), _augmented_swap))
"""What changes one token."""

RULES = (
    *TOKENS,
    Operator((cst.Assign,), _accumulate),
    Operator((cst.BinaryOperation,), _operands),
    Operator((cst.BinaryOperation,), _regroup),
    Operator((cst.UnaryOperation, cst.Name, cst.Call, cst.Subscript, cst.Attribute), _sign),
    Operator((cst.BaseExpression,), _add_term),
    Operator((cst.BaseExpression,), _add_operand),
)
