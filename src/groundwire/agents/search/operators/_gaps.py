"""Gaps that a place shows: an empty block, a value thrown away, a guard or a neighbour that is there elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._habits import names_in
from groundwire.agents.search._kinds import base
from groundwire.agents.search._precedence import binding
from groundwire.agents.search._source import Proposal, Replacement, Site
from groundwire.agents.search.operators._base import Operator, delimited, insert, replace
from groundwire.agents.search.operators._statements import (
    is_docstring,
    is_movable,
    line_region,
    nested,
    own_line,
    reindented,
    siblings,
    simple_of,
)

_PLAIN = (cst.SimpleStatementLine, cst.If, cst.For, cst.While, cst.With, cst.Try)
_ENDS = (cst.Return, cst.Raise, cst.Break, cst.Continue)
MAX_OPENINGS = 12
MAX_FILLINGS = 40
_ADDERS = ("append", "extend", "add", "update")
_ADDERS_OF = {"list": ("append", "extend"), "set": ("add", "update"), "dict": ("update",)}


def _exist(what: Site, place: Site, scene: EditContext) -> bool:
    """True where all names that are local at one place exist at the other one."""
    local = names_in(what) & {v.name for v in scene.variables(what.function)}
    return local <= {v.name for v in scene.visible(place)} | {"self", "cls"}


def _as_elsewhere(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """The same statement is guarded elsewhere, or has another one before or after it."""
    if site.function is None or not is_movable(site, scene):
        return
    habits, text = scene.habits, scene.source.text(site)
    indent, newline = scene.source.indent(site), scene.source.newline
    start, end = line_region(site, scene)
    here = {scene.source.text(s) for s in site.above() if s.slot == "test"}
    offered: set[str] = set()
    for test in habits.conditions.get(text, ()):
        condition = scene.source.text(test)
        alone = site.parent is not None and isinstance(site.parent.parent and site.parent.parent.node, cst.If)
        if condition in offered | here or (alone and len(siblings(site)) == 1) or not _exist(test, site, scene):
            continue
        offered.add(condition)
        body = reindented(site, nested(site, scene), scene)
        yield Proposal("habit.guard", (Replacement(start, end, f"{indent}if {condition}:{newline}{body}"),))
    ends = isinstance(simple_of(site), _ENDS)
    for others, now, offset in (
        (habits.before.get(text, ()), habits.neighbour(site, -1), start),
        (habits.after.get(text, ()), habits.neighbour(site, 1), end),
    ):
        if ends and offset == end:
            continue
        known = scene.source.text(now) if now is not None else ""
        for other in others:
            line = reindented(other, indent, scene)
            if scene.source.text(other) == known or line in offered or not _exist(other, site, scene):
                continue
            offered.add(line)
            name = "habit.before" if offset == start else "habit.after"
            yield insert(name, offset, own_line(offset, line, scene), 0.5 if ends else 1.0)


def _opening(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """A function begins with a guard that others of the file begin with."""
    function = site.function
    if function is None or site.parent is None or site.parent.parent is not function:
        return
    block = [s for s in siblings(site) if not is_docstring(s)]
    if not block or block[0] is not site or not scene.source.is_first_on_line(site):
        return
    start, _ = line_region(site, scene)
    indent, here = scene.source.indent(site), scene.source.text(function)
    fitting = (
        opening
        for opening in scene.habits.openings
        if opening.site.function is not function and is_movable(opening.site, scene)
        if scene.source.text(opening.site) not in here and _exist(opening.site, site, scene)
    )
    for position, opening in enumerate(fitting):
        if position < MAX_OPENINGS:
            yield insert(
                "habit.opening",
                start,
                reindented(opening.site, indent, scene),
                (1 - 0.5**opening.count) * 0.9**position,
            )


def _fill(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`pass` is all that a block does: it gets a statement of the function, those first that set what its like sets."""
    if not isinstance(simple_of(site), cst.Pass) or len(siblings(site)) > 1 or site.function is None:
        return
    owner = site.parent.parent if site.parent is not None else None
    if owner is None or not isinstance(owner.node, (cst.If, cst.Else, cst.For, cst.While, cst.Try, cst.ExceptHandler)):
        return
    top = next((a for a in site.above() if a.is_statement and a.slot != "orelse"), site)
    known = {v.name for v in scene.visible(site)} | {"self", "cls"}
    scope = set(scene.names(site.function))
    offers: dict[str, float] = {}
    for other in scene.source.statements:
        inner = simple_of(other)
        kept = isinstance(inner, (cst.Assign, cst.AugAssign, cst.Expr, cst.Return, cst.Raise))
        if other.function is not site.function or not kept or is_docstring(other) or not is_movable(other, scene):
            continue
        near = 1.0 if any(a is top for a in other.above()) else 0.6
        exists = 1.0 if not (names_in(other) & scope) - known else 0.3
        text = scene.source.text(other)
        offers[text] = max(offers.get(text, 0.0), near * exists)
    ranked = sorted(offers.items(), key=lambda offer: -offer[1])[:MAX_FILLINGS]
    for position, (text, weight) in enumerate(ranked):
        if "\n" not in text:
            yield delimited("stmt.fill", site, text, weight * 0.97**position)


def _kept(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`f(x)` → `found.append(f(x))`: a value is thrown away that was to be collected."""
    value = site.child("value")
    if value is None or not isinstance(value.node, cst.Call) or site.function is None:
        return
    text = scene.source.text(value)
    used = scene.vocabulary.usage.attributes
    for position, variable in enumerate(v for v in scene.visible(site) if base(v.kind) in ("list", "set", "dict", "")):
        own = [name for name in _ADDERS if name in used.get(variable.name, {})]
        kind = base(variable.kind)
        names = own or list(_ADDERS_OF.get(kind, ()))
        if "append" in names and "extend" not in names:
            names.append("extend")
        for place, name in enumerate(names):
            yield delimited("call.collect", site, f"{variable.name}.{name}({text})", 0.8 ** (position + place))


_WORD = re.compile(r"[^\W\d]\w*")
LONGEST = 160
MAX_RENAMED = 3


def _renamed(model: str, now: str) -> Iterator[str]:
    """What stands beside a thing, with the one word exchanged that it does not share: what that thing may lack."""
    there, here = (dict.fromkeys(_WORD.findall(text)) for text in (model, now))
    other, own = [w for w in there if w not in here], [w for w in here if w not in there]
    if len(model) > LONGEST or not other or not own:
        return
    for name in own[:MAX_RENAMED]:
        text = re.sub(rf"\b{other[0]}\b", name, model)
        if text != now:
            yield text


def _as_beside(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`a = f(x.a) if x.a else 0; b = f(x.b)` → `b = f(x.b) if x.b else 0`: it does not do as the line beside it."""
    if site.function is None or not isinstance(simple_of(site), (cst.Assign, cst.AugAssign, cst.Expr)):
        return
    for step in (-1, 1):
        other = scene.habits.neighbour(site, step)
        if other is not None and type(simple_of(other)) is type(simple_of(site)) and not is_docstring(other):
            for position, text in enumerate(_renamed(scene.source.text(other), scene.source.text(site))):
                yield delimited("habit.analogy", site, text, 0.7**position)


def _as_the_other_side(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`a or (b and b > 0)` → `(a and a > 0) or (b and b > 0)`: one side does not do as the other one."""
    left, right = site.child("left"), site.child("right")
    for side, other in ((left, right), (right, left)):
        if side is not None and other is not None and isinstance(other.node, cst.BaseExpression):
            model = scene.source.text(other)
            for position, text in enumerate(_renamed(model, scene.source.text(side))):
                yield replace("habit.analogy", side, text, binding(other.node), 0.7**position)


RULES = (
    Operator((cst.SimpleStatementLine,), _as_beside),
    Operator((cst.BooleanOperation, cst.BinaryOperation), _as_the_other_side),
    Operator((cst.SimpleStatementLine,), _as_elsewhere),
    Operator(_PLAIN, _opening),
    Operator((cst.SimpleStatementLine,), _fill),
    Operator((cst.Expr,), _kept),
)
