"""Comparisons: boundaries, directions, negations, exchanged sides."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._kinds import base
from groundwire.agents.search._precedence import COMPARISON, SUM, binding
from groundwire.agents.search._source import Proposal, Replacement, Site
from groundwire.agents.search.operators._base import Operator, delimited, exchange, replace

_BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_SWAP = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in", "not in": "in",
           "is": "is not", "is not": "is"}  # fmt: skip
_ORDERED = ("<", "<=", ">", ">=", "==", "!=")
_RELATED = {"is": ("==",), "is not": ("!=",), "in": ("==",), "not in": ("!=",), "==": ("in", "is"), "!=": ("not in",)}


def _operators(site: Site, scene: EditContext) -> Iterator[Proposal]:
    for target in site.all("comparisons"):
        operator = target.child("operator")
        if operator is None:
            continue
        sign = " ".join(scene.source.text(operator).split())
        offered: set[str] = {sign}
        for name, table, weight in (("compare.boundary", _BOUNDARY, 1.0), ("compare.negate", _NEGATE, 1.0),
                                    ("compare.swap", _SWAP, 1.0)):  # fmt: skip
            if (new := table.get(sign)) and new not in offered:
                offered.add(new)
                yield delimited(name, operator, new, weight)
        rest = [new for new in _ORDERED if new not in offered] if sign in _ORDERED else []
        # an equality that should have been an order is seen more often than the other way round
        for new in rest:
            yield delimited("compare.replace", operator, new, 1.0 if sign in ("==", "!=") or new == "==" else 0.6)
        for new in _RELATED.get(sign, ()):
            yield delimited("compare.replace", operator, new, 0.3)


def _sides(site: Site, scene: EditContext) -> Iterator[Proposal]:
    targets = site.all("comparisons")
    left = site.child("left")
    if len(targets) != 1 or left is None:
        return
    right, sign = targets[0].child("comparator"), targets[0].child("operator")
    # for an order, exchanging the sides is compare.swap
    if right is not None and sign is not None and isinstance(sign.node, (cst.In, cst.NotIn)):
        yield exchange("compare.sides", left, right, scene)


_BOTH = (
    "set({})",
    "sorted({})",
    "len({})",
    "{}.lower()",
    "abs({})",
    "{}.strip()",
    "list({})",
    "sum({})",
    "str({})",
    "int({})",
)


def _both(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """Both sides are seen through the same function: `a == b` → `set(a) == set(b)`."""
    targets, left = site.all("comparisons"), site.child("left")
    right = targets[0].child("comparator") if len(targets) == 1 else None
    if left is None or right is None:
        return
    kind = base(scene.kind(left)) or base(scene.kind(right))
    for position, template in enumerate(_BOTH):
        if _takes(template, kind) and scene.source.text(left)[:4] != template[:4]:
            sides = (left, right)
            texts = [
                f"({t})" if template[0] == "{" and s.children else t for s in sides for t in [scene.source.text(s)]
            ]
            splices = tuple(
                Replacement(s.start, s.end, template.replace("{}", t)) for s, t in zip(sides, texts, strict=True)
            )
            yield Proposal("compare.both", splices, 0.9**position)


def _takes(template: str, kind: str) -> bool:
    if not kind:
        return True
    if template.startswith("{}"):
        return kind == "str"
    if template.startswith(("abs", "int")):
        return kind in ("int", "float")
    if template.startswith("str"):
        return kind != "str"
    return kind in ("str", "list", "tuple", "set", "iter", "dict") and (kind != "str" or not template.startswith("sum"))


def _chain(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`a == b` where `a < b < c` was meant, and the other way round: a chain loses an end."""
    targets = site.all("comparisons")
    left = site.child("left")
    if len(targets) < 2 or left is None:
        return
    data = scene.source.data
    whole = data[site.start : targets[-2].end].decode()
    yield replace("compare.chain", site, whole, COMPARISON)
    first = targets[0].child("comparator")
    if first is not None:
        yield replace("compare.chain", site, data[first.start : site.end].decode(), COMPARISON)


def _shifted(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """A boundary that is wrong twice: `i < n - 1` → `i <= n`, `i <= n` → `i < n + 1` and the other ways round."""
    targets = site.all("comparisons")
    sign = targets[0].child("operator") if len(targets) == 1 else None
    right = targets[0].child("comparator") if len(targets) == 1 else None
    if sign is None or right is None or not isinstance(right.node, cst.BaseExpression):
        return
    new = _BOUNDARY.get(scene.source.text(sign).strip())
    if new is None or base(scene.kind(right)) not in ("int", "float", ""):
        return
    text = scene.source.text(right)
    inner = right.node
    if isinstance(inner, cst.BinaryOperation) and isinstance(inner.operator, (cst.Add, cst.Subtract)):
        left, one = right.child("left"), right.child("right")
        if left is not None and one is not None and scene.source.text(one) == "1":
            splices = (Replacement(sign.start, sign.end, new), Replacement(*right.outer, scene.source.text(left)))
            yield Proposal("compare.shifted", splices)
    if isinstance(inner, cst.Integer):
        offers = [str(int(inner.value, 0) + 1), str(max(0, int(inner.value, 0) - 1))]
    else:
        text = text if binding(inner) >= SUM else f"({text})"
        offers = [f"{text} + 1", f"{text} - 1"]
    for offer in offers:
        splices = (Replacement(sign.start, sign.end, new), Replacement(*right.outer, offer))
        yield Proposal("compare.shifted", splices, 0.6)


TOKENS = (Operator((cst.Comparison,), _operators),)
"""What changes one token."""

RULES = (
    *TOKENS,
    Operator((cst.Comparison,), _shifted),
    Operator((cst.Comparison,), _sides),
    Operator((cst.Comparison,), _both),
    Operator((cst.Comparison,), _chain),
)
