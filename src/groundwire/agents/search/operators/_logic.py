"""Conditions: and/or, negations, clauses too many or too few, and truth values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import libcst as cst

from groundwire.agents.search._edit_context import EditContext, Variable
from groundwire.agents.search._kinds import ITERABLES, NUMBERS, base, fit
from groundwire.agents.search._precedence import AND, ATOM, COMPARISON, NOT, OR, binding, demand
from groundwire.agents.search._source import Proposal, Replacement, Site
from groundwire.agents.search.operators._base import Operator, delimited, replace

# Conditions that could be meant at a place: borrowed from the file, or made of the variables that exist there.

MAX_CONDITIONS = 60
MAX_BORROWED_CHARS = 50
NEAREST = 8
MAX_ATTRIBUTES = 4
"""Variables that new conditions are made of."""


def conditions(site: Site, scene: EditContext) -> list[tuple[str, float]]:
    """Conditions that could stand at a site, each with a weight: those of the file first, then simple new ones."""
    visible = scene.visible(site)
    place = (site.function, tuple(v.name for v in visible))
    known = scene.conditions.get(place)
    if known is None:
        known = scene.conditions[place] = _made(site, visible, scene)
    return known


def _made(site: Site, visible: Sequence[Variable], scene: EditContext) -> list[tuple[str, float]]:
    found: dict[str, float] = {}
    known = {v.name for v in visible}
    scope = set(scene.names(site.function))
    for donor in scene.donors_at(site):
        plain = donor.kind != "bool" or donor.text in ("True", "False") or len(donor.text) > MAX_BORROWED_CHARS
        if not plain and not (donor.names & scope) - known:
            near = 1.0 if donor.site.function is site.function else 0.4
            found.setdefault(donor.text if donor.level >= COMPARISON else f"({donor.text})", near)
    nearest = visible[:NEAREST]
    classes = tuple(scene.vocabulary.usage.classes)[:4]
    for variable in nearest:
        for text, weight in _simple(variable):
            found.setdefault(text, weight)
        if not variable.kind:
            for position, name in enumerate(classes):
                found.setdefault(f"isinstance({variable.name}, {name})", 0.25 * 0.8**position)
                found.setdefault(f"not isinstance({variable.name}, {name})", 0.15 * 0.8**position)
    used = scene.vocabulary.usage.attributes
    for owner in ("self", *(v.name for v in nearest)):
        for position, name in enumerate(n for n, called in used.get(owner, {}).items() if not called):
            if position < MAX_ATTRIBUTES:
                text, weight = f"{owner}.{name}", 0.25 * 0.9**position
                found.setdefault(text, weight)
                found.setdefault(f"not {text}", weight)
                found.setdefault(f"{text} is None", 0.6 * weight)
                found.setdefault(f"{text} is not None", 0.8 * weight)
    for first, second in combinations(nearest, 2):
        for text, weight in _pairs(first, second):
            found.setdefault(text, weight)
    return sorted(found.items(), key=lambda item: -item[1])[:MAX_CONDITIONS]


def _simple(variable: Variable) -> Iterator[tuple[str, float]]:
    name, kind = variable.name, base(variable.kind)
    if kind in NUMBERS or not kind:
        known = 1.0 if kind else 0.5
        for text, weight in ((f"{name} > 0", 0.4), (f"{name} > 1", 0.2), (f"{name} != 0", 0.2), (f"{name} < 0", 0.2),
                             (f"{name} % 2 == 0", 0.25), (f"{name} % 2 == 1", 0.2), (f"{name} == 0", 0.2)):  # fmt: skip
            yield text, weight * known
    if kind in ITERABLES or not kind:
        yield from ((name, 0.4), (f"not {name}", 0.4), (f"len({name}) > 1", 0.15))
    if kind == "bool":
        yield from ((name, 0.6), (f"not {name}", 0.6))
    if not kind:
        yield from ((f"{name} is None", 0.4), (f"{name} is not None", 0.4))
    if kind == "str":
        yield from ((f"{name}.isdigit()", 0.15), (f"{name}.isalpha()", 0.15), (f"{name}.isupper()", 0.1))


def _pairs(first: Variable, second: Variable) -> Iterator[tuple[str, float]]:
    a, b = first.name, second.name
    closeness = fit(first.kind, second.kind)
    if closeness >= 0.3:
        yield from ((f"{a} == {b}", 0.5 * closeness), (f"{a} != {b}", 0.4 * closeness),
                    (f"{a} < {b}", 0.3 * closeness), (f"{a} > {b}", 0.3 * closeness))  # fmt: skip
    if base(first.kind) in ITERABLES:
        yield from ((f"{b} in {a}", 0.2), (f"{b} not in {a}", 0.3))
    if base(second.kind) in ITERABLES:
        yield from ((f"{a} in {b}", 0.2), (f"{a} not in {b}", 0.3))


MAX_ASKED = 4
ASKED = 3.0
"""How much likelier a question is about what stands there than one about anything else in scope; a guess."""


def is_there(site: Site, scene: EditContext) -> list[str]:
    """What a piece of code asks something of, and so needs: `x` of `x.f()`, `self.x` of `self.x[0]`; then names that it
    reads."""
    known = {v.name for v in scene.visible(site)}
    asked: dict[str, None] = {}
    read: dict[str, None] = {}
    for inner in site.walk():
        node = inner.node
        if inner not in scene.source.evaluated or inner.slot == "func":
            continue
        holds = inner.slot == "value" and isinstance(inner.parent and inner.parent.node, (cst.Attribute, cst.Subscript))
        if isinstance(node, cst.Name) and node.value in known:
            (asked if holds else read)[node.value] = None
        elif isinstance(node, cst.Attribute) and holds and isinstance(node.value, cst.Name):
            asked[scene.source.text(inner)] = None
    return [*asked, *(name for name in read if name not in asked)][:MAX_ASKED]


def is_condition(site: Site) -> bool:
    """True if the value decides a branch, loop or filter as a whole."""
    parent = site.parent
    return (
        parent is not None
        and site.slot == "test"
        and isinstance(parent.node, (cst.If, cst.While, cst.IfExp, cst.CompIf, cst.Assert))
    )


def _and_or(site: Site, scene: EditContext) -> Iterator[Proposal]:
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
    if parts == [scene.source.text(s) for s in (left, right)] and (site.node.lpar or level >= demand(site)):
        yield delimited("bool.and_or", operator, f" {new} " if scene.source.text(operator)[:1] == " " else new)
    else:
        yield replace("bool.and_or", site, f"{parts[0]} {new} {parts[1]}", level)


def _negate(site: Site, scene: EditContext) -> Iterator[Proposal]:
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


def _truth(site: Site, scene: EditContext) -> Iterator[Proposal]:
    if isinstance(site.node, cst.Name) and site.node.value in ("True", "False"):
        yield replace("bool.flip", site, "False" if site.node.value == "True" else "True", ATOM)


def _fixed_condition(site: Site, scene: EditContext) -> Iterator[Proposal]:
    if is_condition(site) and not isinstance(site.parent and site.parent.node, cst.While):
        yield replace("cond.fixed", site, "True", ATOM)
        yield replace("cond.fixed", site, "False", ATOM)


def _add_clause(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """A clause that was forgotten: `if a:` → `if a and b:` with conditions that could stand here."""
    is_part = isinstance(site.parent and site.parent.node, cst.BooleanOperation)
    if not is_part and not is_condition(site) and not _is_truth_result(site, scene):
        return
    node, text = site.node, scene.source.text(site)
    assert isinstance(node, cst.BaseExpression)
    negative = isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not)
    word, level = ("or", OR) if negative else ("and", AND)
    questions = ("not {}", "{} is None") if negative else ("{}", "{} is not None")
    right = text if binding(node) >= level + 1 else f"({text})"
    for position, thing in enumerate(is_there(site, scene)):
        for question, likely in zip(questions, (1.0, 0.8), strict=True):
            asked, weight = question.replace("{}", thing), ASKED * likely * 0.7**position
            if asked != text:
                yield replace("cond.add_clause", site, f"{asked} {word} {right}", level, weight)
    for clause, weight in () if is_part else conditions(site, scene):
        if clause != text:
            for word, level in (("and", AND), ("or", OR)):
                left = text if binding(node) >= level else f"({text})"
                yield replace("cond.add_clause", site, f"{left} {word} {clause}", level, weight)
                if clause.partition(" ")[0].removeprefix("not ") in text:
                    # what is asked of a thing can need an answer about it first: `x is not None and x.size > 1`
                    right = text if binding(node) >= level + 1 else f"({text})"
                    yield replace("cond.add_clause", site, f"{clause} {word} {right}", level, weight)


def _is_truth_result(site: Site, scene: EditContext) -> bool:
    return (
        isinstance(site.parent and site.parent.node, cst.Return)
        and scene.kind(site) == "bool"
        and isinstance(site.node, (cst.Comparison, cst.BooleanOperation, cst.Call, cst.UnaryOperation))
    )


def _remove_filter(site: Site, scene: EditContext) -> Iterator[Proposal]:
    data = scene.source.data
    start = site.start
    while start > 0 and data[start - 1 : start].isspace():
        start -= 1
    yield Proposal("cond.remove", (Replacement(start, site.end, ""),))


def _add_filter(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`x for x in y` → `x for x in y if …`."""
    if site.all("ifs") or site.child("inner_for_in") is not None:
        return
    target = site.child("target")
    iterable = site.child("iter")
    if target is None or iterable is None:
        return
    names = {s.node.value for s in target.walk() if isinstance(s.node, cst.Name)}
    own = [v for v in scene.visible(target) if v.name in names]
    offers = [(text, ASKED * weight) for variable in own for text, weight in _simple(variable)]
    offers += [(text, weight) for text, weight in conditions(target, scene) if any(name in text for name in names)]
    others = [v.name for v in scene.visible(site) if v.name not in names][:4]
    for name in sorted(names):
        known = [n for n, called in scene.vocabulary.usage.attributes.get(name, {}).items() if not called]
        for place, attribute in enumerate(known[:MAX_ATTRIBUTES]):
            offers += [(f"{name}.{attribute} == {other}", 0.3 * 0.8 ** (place + n)) for n, other in enumerate(others)]
    for text, weight in dict(reversed(offers)).items():
        yield Proposal("cond.add_filter", (Replacement(site.end, site.end, f" if {text}"),), weight)


def _conditional(site: Site, scene: EditContext) -> Iterator[Proposal]:
    body, orelse = site.child("body"), site.child("orelse")
    if body is not None and orelse is not None:
        first, second = scene.source.text(body), scene.source.text(orelse)
        yield Proposal(
            "cond.exchange", (Replacement(body.start, body.end, second), Replacement(orelse.start, orelse.end, first))
        )


def _regroup(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`a or b and c` → `(a or b) and c`, and back."""
    left, right, data = site.child("left"), site.child("right"), scene.source.data
    for side, other in ((left, right), (right, left)):
        if side is None or other is None or not isinstance(side.node, cst.BooleanOperation):
            continue
        near = side.child("right" if side is left else "left")
        if near is None:
            continue
        if side.node.lpar:
            text = data[site.start : site.end].decode()
            yield replace(
                "bool.regroup", site, text.replace(f"({scene.source.text(side)})", scene.source.text(side), 1), OR
            )
        elif side is left:
            head, tail = data[site.start : near.start].decode(), data[near.start : site.end].decode()
            yield replace("bool.regroup", site, f"{head}({tail})", OR)
        else:
            head, tail = data[site.start : near.end].decode(), data[near.end : site.end].decode()
            yield replace("bool.regroup", site, f"({head}){tail}", OR)


TOKENS = (
    Operator((cst.BooleanOperation,), _and_or),
    Operator((cst.BaseExpression,), _negate),
    Operator((cst.Name,), _truth),
)
"""What changes one token."""

RULES = (
    *TOKENS,
    Operator((cst.BooleanOperation,), _regroup),
    Operator((cst.BaseExpression,), _fixed_condition),
    Operator((cst.BaseExpression,), _add_clause),
    Operator((cst.CompIf,), _remove_filter),
    Operator((cst.CompFor,), _add_filter),
    Operator((cst.IfExp,), _conditional),
)
