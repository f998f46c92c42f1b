"""Statements: deleted, doubled, moved, in or out of a block, copied from elsewhere in the function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import libcst as cst

from groundwire.agents.search._edit_context import EditContext, Variable
from groundwire.agents.search._kinds import base, element, fit
from groundwire.agents.search._source import Proposal, Replacement, Site
from groundwire.agents.search.operators._base import Operator

# Whole lines: the region of a statement, and its text at another indentation.


def is_movable(site: Site, scene: EditContext) -> bool:
    """True if the statement owns its lines: nothing else stands on them, and none is inside a long text."""
    source = scene.source
    if not source.is_first_on_line(site):
        return False
    start, end = line_region(site, scene)
    text = source.data[start:end]
    return b'"""' not in text and b"'''" not in text and b"\\\n" not in text


def line_region(site: Site, scene: EditContext) -> tuple[int, int]:
    """First byte of its first line, and the byte after its last line's end."""
    source = scene.source
    return source.line_start(site.line), source.line_start(source.last_line(site) + 1)


def reindented(site: Site, indent: str, scene: EditContext) -> str:
    """The statement's lines at another indentation, with a line end."""
    source = scene.source
    old = source.indent(site)
    start, end = line_region(site, scene)
    lines = source.data[start:end].decode().splitlines(keepends=True)
    moved = "".join(indent + line[len(old) :] if line.startswith(old) else line for line in lines)
    return moved if moved.endswith(("\n", "\r")) else moved + source.newline


def nested(site: Site, scene: EditContext) -> str:
    """The indentation one level below a statement's own: that of its block, where it has one."""
    for block in (site.child("body"), site.child("orelse")):
        if block is None or not isinstance(block.node, cst.IndentedBlock) or not block.children:
            continue
        if scene.source.is_first_on_line(block.children[0]):
            return scene.source.indent(block.children[0])
    return scene.source.indent(site) + step(scene)


def step(scene: EditContext) -> str:
    """One level of indentation, as the file's functions have it."""
    for function in scene.source.functions:
        body = function.child("body")
        if body is not None and body.children and scene.source.is_first_on_line(body.children[0]):
            outer, inner = scene.source.indent(function), scene.source.indent(body.children[0])
            if inner.startswith(outer) and len(inner) > len(outer):
                return inner[len(outer) :]
    return "    "


def siblings(site: Site) -> list[Site]:
    """The statements of the block it stands in, itself included."""
    return [s for s in site.parent.children if s.is_statement] if site.parent is not None else []


def removed(site: Site, scene: EditContext) -> Replacement:
    """Its lines go; a block that would be empty keeps a `pass`."""
    start, end = line_region(site, scene)
    if len(siblings(site)) > 1:
        return Replacement(start, end, "")
    return Replacement(site.start, site.end, "pass")


_COMPOUND = (cst.If, cst.For, cst.While, cst.With, cst.Try)
_PLAIN = (cst.SimpleStatementLine, cst.If, cst.For, cst.While, cst.With, cst.Try)


def simple_of(site: Site) -> cst.BaseSmallStatement | None:
    """The one simple statement of a line; None where it is a compound one, or holds several."""
    return site.node.body[0] if isinstance(site.node, cst.SimpleStatementLine) and len(site.node.body) == 1 else None


def is_docstring(site: Site) -> bool:
    """True for a statement that is nothing but a text."""
    small = simple_of(site)
    return isinstance(small, cst.Expr) and isinstance(small.value, (cst.SimpleString, cst.ConcatenatedString))


def _is_elif(site: Site) -> bool:
    return site.slot == "orelse"


def _delete(site: Site, scene: EditContext) -> Iterator[Proposal]:
    if site.function is None or _is_elif(site) or is_docstring(site) or isinstance(simple_of(site), cst.Pass):
        return
    if not scene.source.is_first_on_line(site):
        return
    size = scene.source.last_line(site) - site.line + 1
    yield Proposal("stmt.delete", (removed(site, scene),), 1.0 / size)


def _double(site: Site, scene: EditContext) -> Iterator[Proposal]:
    if (
        not isinstance(simple_of(site), (cst.Assign, cst.AugAssign, cst.Expr))
        or is_docstring(site)
        or not is_movable(site, scene)
    ):
        return
    _, end = line_region(site, scene)
    yield Proposal("stmt.duplicate", (Replacement(end, end, reindented(site, scene.source.indent(site), scene)),))


def _move(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """It trades places with the next statement of its block."""
    block = siblings(site)
    place = block.index(site) if site in block else -1
    if site.function is None or place < 0 or place + 1 >= len(block) or is_docstring(site):
        return
    after = block[place + 1]
    if not (is_movable(site, scene) and is_movable(after, scene)):
        return
    indent = scene.source.indent(site)
    first, second = line_region(site, scene), line_region(after, scene)
    yield Proposal(
        "stmt.move",
        (Replacement(*first, reindented(after, indent, scene)), Replacement(*second, reindented(site, indent, scene))),
    )


def _dedent(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """The last statement of a block moves out, after the block; the first one, before it."""
    block = siblings(site)
    outer = _block_owner(site)
    if outer is None or site.function is None or not isinstance(outer.node, _COMPOUND) or not is_movable(site, scene):
        return
    top = outer
    while _is_elif(top) and top.parent is not None:
        top = top.parent
    if not scene.source.is_first_on_line(top):
        return
    indent = scene.source.indent(top)
    text = reindented(site, indent, scene)
    if block[-1] is site:
        _, end = line_region(top, scene)
        yield Proposal("stmt.dedent", (removed(site, scene), Replacement(end, end, own_line(end, text, scene))))
    if block[0] is site and len(block) > 1:
        start, _ = line_region(top, scene)
        yield Proposal("stmt.dedent", (Replacement(start, start, text), removed(site, scene)), 0.5)


def own_line(offset: int, text: str, scene: EditContext) -> str:
    """Lines as they are inserted at a place: a file whose last line has no end gets that first."""
    data = scene.source.data
    return text if offset == 0 or data[offset - 1 : offset] == b"\n" else scene.source.newline + text


def _block_owner(site: Site) -> Site | None:
    block = site.parent
    if block is None or not isinstance(block.node, cst.IndentedBlock) or block.parent is None:
        return None
    owner = block.parent
    return owner.parent if isinstance(owner.node, (cst.Else, cst.ExceptHandler, cst.Finally)) else owner


def _indent(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """The statement after a block moves into its end; the one before it, into its start."""
    block = siblings(site)
    place = block.index(site) if site in block else -1
    if site.function is None or place < 0 or is_docstring(site) or not is_movable(site, scene):
        return
    if place > 0 and isinstance(block[place - 1].node, _COMPOUND):
        before = block[place - 1]
        for owner in _tails(before):
            _, end = line_region(owner, scene)
            text = reindented(site, nested(owner, scene), scene)
            yield Proposal(
                "stmt.indent", (Replacement(end, end, text), removed(site, scene)), 1.0 if owner is before else 0.6
            )
    if place + 1 < len(block) and isinstance(block[place + 1].node, (cst.For, cst.While, cst.If)):
        after = block[place + 1]
        body = after.child("body")
        if body is not None and body.children and scene.source.is_first_on_line(body.children[0]):
            start, _ = line_region(body.children[0], scene)
            text = reindented(site, nested(after, scene), scene)
            yield Proposal("stmt.indent", (removed(site, scene), Replacement(start, start, text)), 0.6)


def _tails(site: Site) -> Iterator[Site]:
    """The statement and the last compound statements nested in its end."""
    while isinstance(site.node, _COMPOUND):
        body = site.child("body")
        if site.child("orelse") is None:
            yield site
        last = [s for s in body.children if s.is_statement] if body is not None else []
        if not last or body is None or not isinstance(body.node, cst.IndentedBlock) or site.child("orelse") is not None:
            return
        site = last[-1]


def _copy(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """A statement from elsewhere in the function, before or after this one."""
    if site.function is None or not scene.source.is_first_on_line(site) or _is_elif(site) or is_docstring(site):
        return
    indent = scene.source.indent(site)
    start, end = line_region(site, scene)
    ends_flow = isinstance(simple_of(site), (cst.Return, cst.Raise, cst.Break, cst.Continue))
    known = {v.name for v in scene.visible(site)}
    scope = set(scene.names(site.function))
    for other in scene.source.statements:
        small = simple_of(other)
        if other is site or other.function is not site.function or is_docstring(other) or not is_movable(other, scene):
            continue
        if not isinstance(small, (cst.Assign, cst.AugAssign, cst.Expr, cst.Return, cst.Break, cst.Continue)):
            continue
        used = {s.node.value for s in other.walk() if isinstance(s.node, cst.Name)}
        weight = 1.0 if not (used & scope) - known else 0.2
        text = reindented(other, indent, scene)
        if not isinstance(small, (cst.Return, cst.Break, cst.Continue)):
            yield Proposal("stmt.copy", (Replacement(start, start, text),), weight)
        if not ends_flow:
            yield Proposal("stmt.copy", (Replacement(end, end, own_line(end, text, scene)),), weight)


MAX_FOREIGN = 10


def _foreign(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """A statement or a short guard from another function of the file, where all its names exist."""
    if site.function is None or not scene.source.is_first_on_line(site) or _is_elif(site) or is_docstring(site):
        return
    indent = scene.source.indent(site)
    start, end = line_region(site, scene)
    block = siblings(site)
    known = {v.name for v in scene.visible(site)} | {"self", "cls"}
    fitting = (other for other, _, local in _loose(site.function, scene) if local <= known)
    for position, other in enumerate(islice(fitting, MAX_FOREIGN)):
        text = reindented(other, indent, scene)
        share = 0.9**position
        yield Proposal("stmt.borrow", (Replacement(start, start, text),), share)
        if block[-1] is site and not isinstance(simple_of(site), (cst.Return, cst.Raise, cst.Break, cst.Continue)):
            yield Proposal("stmt.borrow", (Replacement(end, end, own_line(end, text, scene)),), share)


def _loose(function: Site, scene: EditContext) -> list[tuple[Site, frozenset[str], frozenset[str]]]:
    """Statements of other functions, those that speak of the same things first; guards before the rest."""
    if None not in scene.loose:
        scene.loose[None] = [
            (other, names, names & {v.name for v in scene.variables(other.function)})
            for other in scene.source.statements
            if other.function is not None and (_is_guard(other, scene) or _is_short(other))
            if is_movable(other, scene)
            for names in [_mentioned(other)]
        ]
    if function not in scene.loose:
        here = {scene.source.text(s) for s in scene.source.statements if s.function is function}
        near = _mentioned(function)
        offers = [
            (len(loose[1] & near) / (1 + len(loose[1])) + 0.2 * isinstance(loose[0].node, cst.If), loose)
            for loose in scene.loose[None]
            if loose[0].function is not function and scene.source.text(loose[0]) not in here
        ]
        offers.sort(key=lambda offer: -offer[0])
        scene.loose[function] = [loose for _, loose in offers]
    return scene.loose[function]


def _mentioned(site: Site) -> frozenset[str]:
    names = (s.node for s in site.walk())
    return frozenset(n.value for n in names if isinstance(n, cst.Name))


def _is_short(site: Site) -> bool:
    return isinstance(simple_of(site), (cst.Assign, cst.AugAssign, cst.Expr, cst.Raise)) and not is_docstring(site)


def _is_guard(site: Site, scene: EditContext) -> bool:
    """An `if` without `else` of at most three lines."""
    short = isinstance(site.node, cst.If) and scene.source.last_line(site) - site.line <= 2
    return short and not _is_elif(site) and site.child("orelse") is None


def _own_attribute(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`self.x = x` for a parameter that the file reads as `self.x`, and that this method does not keep."""
    function, block = site.function, siblings(site)
    if function is None or site.parent is None or site.parent.parent is not function or not block:
        return
    if not isinstance(function.node, cst.FunctionDef) or not scene.source.is_first_on_line(site):
        return
    parameters = [p.name.value for p in function.node.params.params]
    if parameters[:1] != ["self"]:
        return
    start, end = line_region(site, scene)
    ends = isinstance(simple_of(site), (cst.Return, cst.Raise))
    likely = 1.0 if function.node.name.value == "__init__" else 0.2
    body = scene.source.text(function)
    for name in parameters[1:]:
        if name in scene.vocabulary.usage.attributes.get("self", {}) and f"self.{name} =" not in body:
            text = f"{scene.source.indent(site)}self.{name} = {name}{scene.source.newline}"
            yield Proposal("stmt.keep", (Replacement(start, start, text),), likely)
            if block[-1] is site and not ends:
                yield Proposal("stmt.keep", (Replacement(end, end, own_line(end, text, scene)),), likely)


def _update(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """An update that was forgotten, before a return or at the end of a block: `x.append(y)`, `x += 1`, `x = y`."""
    block = siblings(site)
    if site.function is None or not block or block[-1] is not site or not scene.source.is_first_on_line(site):
        return
    before = isinstance(simple_of(site), (cst.Return, cst.Break, cst.Continue))
    start, end = line_region(site, scene)
    offset, indent = (start if before else end), scene.source.indent(site)
    visible = scene.visible(site)
    for position, variable in enumerate(v for v in visible if not v.parameter or base(v.kind) == "list"):
        for text, weight in _updates(variable, visible):
            line = own_line(offset, f"{indent}{text}{scene.source.newline}", scene)
            yield Proposal("stmt.update", (Replacement(offset, offset, line),), weight * 0.8**position)


def _updates(variable: Variable, visible: Sequence[Variable]) -> Iterator[tuple[str, float]]:
    name, kind = variable.name, base(variable.kind)
    others = [v for v in visible if v.name != name][:8]
    if kind in ("int", "float"):
        yield from ((f"{name} += 1", 1.0), (f"{name} -= 1", 0.7), (f"{name} = 0", 0.4), (f"{name} = 1", 0.2))
        yield from ((f"{name} += {v.name}", 0.4) for v in others if base(v.kind) in ("int", "float", ""))
    if kind == "list":
        for v in others:
            weight = fit(element(variable.kind), v.kind)
            yield f"{name}.append({v.name})", weight
            if base(v.kind) == "list":
                yield f"{name}.append({v.name}[-1])", 0.6
                yield f"{name}.append({v.name}[0])", 0.4
                yield f"{name} += {v.name}", 0.5
        yield from ((f"{name}.sort()", 0.6), (f"{name}.reverse()", 0.5), (f"{name} = []", 0.3), (f"{name}.pop()", 0.3))
    if kind == "str":
        yield from ((f"{name} += {v.name}", 0.5) for v in others if base(v.kind) in ("str", ""))
        yield f"{name} = ''", 0.4
    if kind == "bool":
        yield from ((f"{name} = not {name}", 0.6), (f"{name} = True", 0.6), (f"{name} = False", 0.6))
    yield from ((f"{name} = {v.name}", 0.3 * fit(variable.kind, v.kind)) for v in others)


RULES = (
    Operator(_PLAIN, _delete),
    Operator((cst.SimpleStatementLine,), _double),
    Operator(_PLAIN, _move),
    Operator(_PLAIN, _dedent),
    Operator(_PLAIN, _indent),
    Operator(_PLAIN, _copy),
    Operator(_PLAIN, _foreign),
    Operator(_PLAIN, _own_attribute),
    Operator(_PLAIN, _update),
)
