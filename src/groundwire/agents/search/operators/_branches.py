"""Branches: guards too many or too few, bodies exchanged, a lost else, an if that is a loop."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from groundwire.agents.search._edit_context import EditContext, bound_names
from groundwire.agents.search._kinds import base
from groundwire.agents.search._source import Proposal, Replacement, Site
from groundwire.agents.search.operators._base import Operator
from groundwire.agents.search.operators._logic import ASKED, conditions, is_there
from groundwire.agents.search.operators._statements import (
    is_movable,
    line_region,
    nested,
    reindented,
    siblings,
    simple_of,
    step,
)

_WORD = re.compile(r"[^\W\d]\w*")
MAX_GUARDS = 40
MAX_EARLY = 20


def _guard(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`statement` → `if condition: statement`."""
    small = site.node.body[0] if isinstance(site.node, cst.SimpleStatementLine) else None
    if site.function is None or not isinstance(
        small, (cst.Expr, cst.AugAssign, cst.Assign, cst.Return, cst.Break, cst.Continue)
    ):
        return
    if (isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString)) or not is_movable(site, scene):
        return
    start, end = line_region(site, scene)
    indent, inner = scene.source.indent(site), nested(site, scene)
    body = reindented(site, inner, scene)
    scale = 0.5 if isinstance(small, cst.Return) and siblings(site)[-1] is site else 1.0
    offers = dict(reversed([*_questions(site, scene), *conditions(site, scene)[:MAX_GUARDS]]))
    for text, weight in offers.items():
        guarded = f"{indent}if {text}:{scene.source.newline}{body}"
        yield Proposal("cond.add_guard", (Replacement(start, end, guarded),), weight * scale)


def _questions(site: Site, scene: EditContext) -> Iterator[tuple[str, float]]:
    """Whether what a statement sets is unset, where it exists before; whether what it needs is there."""
    known = {v.name for v in scene.visible(site)}
    for target in site.walk():
        if target.slot == "target" and isinstance(target.parent and target.parent.node, cst.AssignTarget):
            text = scene.source.text(target)
            if text in known or (text.startswith("self.") and text.count(".") == 1):
                yield from ((f"{text} is None", ASKED), (f"not {text}", 0.7 * ASKED))
    for position, thing in enumerate(is_there(site, scene)):
        yield from ((thing, ASKED * 0.7**position), (f"{thing} is not None", 0.9 * ASKED * 0.7**position))


def _early(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`if condition: return value` before the first statement of a function or before a return."""
    function = site.function
    if function is None or not scene.source.is_first_on_line(site) or not isinstance(function.node, cst.FunctionDef):
        return
    first = site.parent is not None and site.parent.parent is function and siblings(site)[0] is site
    if not first and not any(isinstance(s.node, cst.Return) for s in site.all("body")):
        return
    kind = scene.call_kinds.get(function.node.name.value, "")
    start, _ = line_region(site, scene)
    indent, newline = scene.source.indent(site), scene.source.newline
    inner = indent + step(scene)
    for text, weight in conditions(site, scene)[:MAX_EARLY]:
        for value, likely in _plain_values(base(kind), [v.name for v in scene.visible(site) if v.parameter][:2]):
            line = f"{indent}if {text}:{newline}{inner}return {value}{newline}"
            yield Proposal("return.early", (Replacement(start, start, line),), weight * likely)


def _skip(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`if condition: continue`, or `break`, before the first statement of a loop and behind what it sets."""
    owner = site.parent.parent if site.parent is not None else None
    if owner is None or not isinstance(owner.node, (cst.For, cst.While)) or not scene.source.is_first_on_line(site):
        return
    block = siblings(site)
    place = block.index(site)
    sets = place > 0 and isinstance(simple_of(block[place - 1]), (cst.Assign, cst.AugAssign))
    if (place and not sets) or site.slot != "body" or site.parent is not owner.child("body"):
        return
    start, _ = line_region(site, scene)
    indent, newline, inner = scene.source.indent(site), scene.source.newline, step(scene)
    # what is asked there is mostly asked of what the loop goes through, or of what was just set
    binder = block[place - 1] if place else owner
    fresh = {name for s in binder.walk() if s.slot == "target" for name, _ in bound_names(s) if s.line <= site.line}
    for text, weight in conditions(site, scene)[:MAX_GUARDS]:
        asked = 1.0 if fresh & set(_WORD.findall(text)) else 0.3
        for word, likely in (("continue", 1.0), ("break", 0.5)):
            line = f"{indent}if {text}:{newline}{indent}{inner}{word}{newline}"
            yield Proposal("loop.skip", (Replacement(start, start, line),), weight * likely * asked)


MAX_RUN = 4


def _guard_run(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """Several statements that only happen if a parameter says so which nothing reads."""
    if site.function is None or not is_movable(site, scene):
        return
    unread = [v.name for v in scene.unread(site.function).values() if v.parameter]
    block = siblings(site)
    run = block[block.index(site) :]
    indent, newline = scene.source.indent(site), scene.source.newline
    start, _ = line_region(site, scene)
    for name in unread[:2]:
        for size in range(2 if isinstance(site.node, cst.SimpleStatementLine) else 1, min(MAX_RUN, len(run)) + 1):
            if not all(is_movable(s, scene) for s in run[:size]):
                break
            body = "".join(reindented(s, indent + step(scene), scene) for s in run[:size])
            _, end = line_region(run[size - 1], scene)
            for text, weight in ((name, 1.0), (f"{name} is not None", 0.7), (f"not {name}", 0.7)):
                guarded = f"{indent}if {text}:{newline}{body}"
                yield Proposal("cond.add_guard", (Replacement(start, end, guarded),), weight * 0.8**size)


def _plain_values(kind: str, parameters: list[str]) -> list[tuple[str, float]]:
    table = {"bool": ["False", "True"], "int": ["0", "1", "-1"], "float": ["0.0"], "str": ["''"], "list": ["[]"]}
    values = [(v, 1.0) for v in table.get(kind, ["None", "False"])]
    return values + [(name, 0.4) for name in parameters]


def _exchange(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """The branches of an if trade places."""
    body, orelse = site.child("body"), site.child("orelse")
    other = orelse.child("body") if orelse is not None and isinstance(orelse.node, (cst.Else, cst.If)) else None
    if body is None or other is None:
        return
    if not (isinstance(body.node, cst.IndentedBlock) and isinstance(other.node, cst.IndentedBlock)):
        return
    first, second = scene.source.text(body), scene.source.text(other)
    if '"""' not in first + second:
        yield Proposal(
            "branch.exchange", (Replacement(body.start, body.end, second), Replacement(other.start, other.end, first))
        )


def _unwrap(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """The guard goes, the guarded statements stay; or the else goes, its statements stay."""
    body, orelse = site.child("body"), site.child("orelse")
    if body is None or site.slot == "orelse" or not scene.source.is_first_on_line(site):
        return
    indent = scene.source.indent(site)
    start, end = line_region(site, scene)
    inside = [s for s in body.children if s.is_statement]
    if isinstance(body.node, cst.IndentedBlock) and all(is_movable(s, scene) for s in inside):
        kept = "".join(reindented(s, indent, scene) for s in inside)
        yield Proposal("cond.remove", (Replacement(start, end, kept),), 0.7)
    if orelse is not None and isinstance(orelse.node, cst.Else):
        other = orelse.child("body")
        if other is not None and isinstance(other.node, cst.IndentedBlock):
            _, body_end = line_region(body, scene)
            tail = [s for s in other.children if s.is_statement]
            if all(is_movable(s, scene) for s in tail):
                kept = "".join(reindented(s, indent, scene) for s in tail)
                yield Proposal("branch.flatten_else", (Replacement(body_end, end, kept),), 0.7)
        yield Proposal("branch.drop_else", (Replacement(line_region(body, scene)[1], end, ""),), 0.6)


def _keyword(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`elif` ↔ `if`, `if` ↔ `while`."""
    data = scene.source.data
    if data[site.start : site.start + 4] == b"elif":
        yield Proposal("branch.elif", (Replacement(site.start, site.start + 4, "if"),))
    elif isinstance(site.node, cst.If):
        block = siblings(site)
        place = block.index(site) if site in block else 0
        if place > 0 and isinstance(block[place - 1].node, cst.If) and block[place - 1].child("orelse") is None:
            yield Proposal("branch.elif", (Replacement(site.start, site.start, "el"),))
        if site.child("orelse") is None:
            yield Proposal("loop.keyword", (Replacement(site.start, site.start + 2, "while"),), 0.6)
    elif isinstance(site.node, cst.While):
        yield Proposal("loop.keyword", (Replacement(site.start, site.start + 5, "if"),), 0.6)


RULES = (
    Operator((cst.SimpleStatementLine,), _guard),
    Operator((cst.SimpleStatementLine, cst.If, cst.For, cst.While), _early),
    Operator((cst.SimpleStatementLine, cst.If, cst.For, cst.While, cst.With, cst.Try), _skip),
    Operator((cst.SimpleStatementLine, cst.If, cst.For, cst.While, cst.With, cst.Try), _guard_run),
    Operator((cst.If,), _exchange),
    Operator((cst.If,), _unwrap),
    Operator((cst.If, cst.While), _keyword),
)
