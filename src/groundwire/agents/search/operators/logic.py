"""Conditions: and/or, negations, clauses too many or too few, and truth values."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from groundwire.agents.search.operators.base import Rule, replace
from groundwire.agents.search.operators.conditions import conditions
from groundwire.agents.search.precedence import AND, ATOM, NOT, OR, binding
from groundwire.agents.search.scene import Scene
from groundwire.agents.search.source import Proposal, Site, Splice

__all__ = ["RULES", "is_condition"]


def is_condition(site: Site) -> bool:
    """True if the value decides a branch, loop or filter as a whole."""
    parent = site.parent
    return (
        parent is not None
        and site.slot == "test"
        and isinstance(parent.node, (cst.If, cst.While, cst.IfExp, cst.CompIf, cst.Assert))
    )


def _and_or(site: Site, scene: Scene) -> Iterator[Proposal]:
    operator, left, right = site.child("operator"), site.child("left"), site.child("right")
    if operator is None or left is None or right is None or not isinstance(site.node, cst.BooleanOperation):
        return
    new = "or" if isinstance(site.node.operator, cst.And) else "and"
    level = AND if new == "and" else OR
    parts = [scene.source.text(s) for s in (left, right)]
    for place, side in enumerate((left, right)):
        node = side.node
        if side.start and isinstance(node, cst.BaseExpression) and (node.lpar or binding(node) < level + place):
            parts[place] = f"({parts[place]})"
    yield replace("bool.and_or", site, f"{parts[0]} {new} {parts[1]}", level)


def _negate(site: Site, scene: Scene) -> Iterator[Proposal]:
    text, node = scene.source.text(site), site.node
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        inner = site.child("expression")
        if inner is not None:
            yield replace("bool.negate", site, scene.source.text(inner), binding(node.expression))
    elif isinstance(node, cst.BaseExpression) and not isinstance(node, cst.Comparison):
        clause = is_condition(site) or isinstance(site.parent and site.parent.node, cst.BooleanOperation)
        result = site.slot == "value" and isinstance(site.parent and site.parent.node, (cst.Return, cst.Assign))
        if clause or (result and scene.wanted(site) == "bool"):
            inner_text = text if binding(node) >= NOT else f"({text})"
            yield replace("bool.negate", site, f"not {inner_text}", NOT, 1.0 if clause else 0.7)


def _truth(site: Site, scene: Scene) -> Iterator[Proposal]:
    if isinstance(site.node, cst.Name) and site.node.value in ("True", "False"):
        yield replace("bool.flip", site, "False" if site.node.value == "True" else "True", ATOM)


def _fixed_condition(site: Site, scene: Scene) -> Iterator[Proposal]:
    if is_condition(site) and not isinstance(site.parent and site.parent.node, cst.While):
        yield replace("cond.fixed", site, "True", ATOM)
        yield replace("cond.fixed", site, "False", ATOM)


def _add_clause(site: Site, scene: Scene) -> Iterator[Proposal]:
    """A clause that was forgotten: `if a:` → `if a and b:` with conditions that could stand here."""
    if not is_condition(site) and not _is_truth_result(site, scene):
        return
    node, text = site.node, scene.source.text(site)
    assert isinstance(node, cst.BaseExpression)
    for clause, weight in conditions(site, scene):
        if clause != text:
            for word, level in (("and", AND), ("or", OR)):
                left = text if binding(node) >= level else f"({text})"
                yield replace("cond.add_clause", site, f"{left} {word} {clause}", level, weight)


def _is_truth_result(site: Site, scene: Scene) -> bool:
    return (
        isinstance(site.parent and site.parent.node, cst.Return)
        and scene.kind(site) == "bool"
        and isinstance(site.node, (cst.Comparison, cst.BooleanOperation, cst.Call, cst.UnaryOperation))
    )


def _remove_filter(site: Site, scene: Scene) -> Iterator[Proposal]:
    data = scene.source.data
    start = site.start
    while start > 0 and data[start - 1 : start].isspace():
        start -= 1
    yield Proposal("cond.remove", (Splice(start, site.end, ""),))


def _add_filter(site: Site, scene: Scene) -> Iterator[Proposal]:
    """`x for x in y` → `x for x in y if …`."""
    if site.all("ifs") or site.child("inner_for_in") is not None:
        return
    target = site.child("target")
    iterable = site.child("iter")
    if target is None or iterable is None:
        return
    names = {s.node.value for s in target.walk() if isinstance(s.node, cst.Name)}
    for text, weight in conditions(target, scene):
        if any(name in text for name in names):
            yield Proposal("cond.add_filter", (Splice(site.end, site.end, f" if {text}"),), weight)


def _conditional(site: Site, scene: Scene) -> Iterator[Proposal]:
    body, orelse = site.child("body"), site.child("orelse")
    if body is not None and orelse is not None:
        first, second = scene.source.text(body), scene.source.text(orelse)
        yield Proposal("cond.exchange", (Splice(body.start, body.end, second), Splice(orelse.start, orelse.end, first)))


RULES = (
    Rule((cst.BooleanOperation,), _and_or),
    Rule((cst.BaseExpression,), _negate),
    Rule((cst.Name,), _truth),
    Rule((cst.BaseExpression,), _fixed_condition),
    Rule((cst.BaseExpression,), _add_clause),
    Rule((cst.CompIf,), _remove_filter),
    Rule((cst.CompFor,), _add_filter),
    Rule((cst.IfExp,), _conditional),
)
