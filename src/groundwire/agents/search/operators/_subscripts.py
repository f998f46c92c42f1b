"""Subscripts: bounds of slices, indexes off by one or from the other end, a slice or index too much or too few."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._kinds import UNKNOWN, base, element, fit
from groundwire.agents.search._precedence import ATOM, binding
from groundwire.agents.search._source import Proposal, Site
from groundwire.agents.search.operators._base import Operator, delimited, replace

_SEQUENCES = ("list", "str", "tuple")


def _slice(site: Site, scene: EditContext) -> Iterator[Proposal]:
    parts = [site.child(name) for name in ("lower", "upper", "step")]
    lower, upper, step = (scene.source.text(p) if p is not None else "" for p in parts)
    tail = f":{step}" if step else ""
    offers = [
        (f"{upper}:{lower}{tail}", 0.8),
        (f":{upper}{tail}", 0.8 if lower else 0.0),
        (f"{lower}:{tail}", 0.8 if upper else 0.0),
        (f"1:{upper}{tail}", 0.5 if lower != "1" else 0.0),
        (f"{lower}:-1{tail}", 0.5 if upper != "-1" else 0.0),
        (f"{lower}:{upper}", 0.8 if step else 0.0),
        (f"{lower}:{upper}:-1", 0.5 if not step else 0.0),
        (f"{lower}:{upper}:2", 0.4 if not step else 0.0),
        (f"1:{upper}:2", 0.2 if not step else 0.0),
        (f"-{lower}:{upper}{tail}", 0.3 if lower and lower[0] != "-" else 0.0),
        (f"{lower}:-{upper}{tail}", 0.3 if upper and upper[0] != "-" else 0.0),
    ]
    if step:
        offers.append((f"{step}::" if not lower else f"::{step}", 0.3))
        offers.append((f"{step}:{upper}{tail}", 0.2))
    offered = {f"{lower}:{upper}{tail}"}
    for text, weight in offers:
        if weight and text not in offered:
            offered.add(text)
            yield delimited("slice.bounds", site, text, weight)
    if (lower or upper) and not (lower and upper) and not step:
        yield delimited("index.from_slice", site, lower or upper)
    for position, variable in enumerate(v for v in scene.visible(site) if base(v.kind) in ("int", "")):
        if position < 4:
            yield delimited("slice.bounds", site, f"{variable.name}:{upper}{tail}", 0.3 * 0.8**position)
            yield delimited("slice.bounds", site, f"{lower}:{variable.name}{tail}", 0.3 * 0.8**position)


def _index(site: Site, scene: EditContext) -> Iterator[Proposal]:
    value = site.child("value")
    if value is None or site.parent is None:
        return
    text = scene.source.text(value)
    whole = site.parent.parent
    sequence = whole.child("value") if whole is not None else None
    if sequence is None:
        return
    name = scene.source.text(sequence)
    if base(scene.kind(sequence)) == "dict":
        return
    yield delimited("index.from_end", site, f"-{text}" if binding_of(value) >= ATOM else f"-({text})", 0.4)
    yield delimited("index.from_end", site, f"-{text} - 1" if binding_of(value) >= ATOM else f"-({text}) - 1", 0.5)
    yield delimited(
        "index.from_end",
        site,
        f"len({name}) - {text} - 1" if binding_of(value) >= ATOM else f"len({name}) - ({text}) - 1",
        0.4,
    )
    if text != "-1":
        yield delimited("index.off_by_one", site, "-1", 0.7)
    if text != "0":
        yield delimited("index.off_by_one", site, "0", 0.7)
    yield delimited("index.to_slice", site, f"{text}:", 0.3)
    yield delimited("index.to_slice", site, f":{text}", 0.3)


def binding_of(site: Site) -> int:
    """How tightly the expression at a site binds."""
    return binding(site.node) if isinstance(site.node, cst.BaseExpression) else ATOM


def _add(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """A slice or index that was forgotten: `s` → `s[1:]`, `s[i:]`, `s[i]`, `s[0]`."""
    if site.slot in ("func", "attr", "keyword") or isinstance(
        site.node, (cst.SimpleString, cst.BaseNumber, cst.Lambda)
    ):
        return
    if isinstance(site.parent and site.parent.node, (cst.Attribute, cst.Expr)):
        return
    kind = scene.kind(site)
    if base(kind) not in (*_SEQUENCES, UNKNOWN) or (not kind and not isinstance(site.node, (cst.Name, cst.Attribute))):
        return
    text, wanted = scene.source.text(site), scene.wanted(site)
    inner = text if binding_of(site) >= ATOM else f"({text})"
    known = 1.0 if kind else 0.3
    for bounds, weight in (
        ("1:", 1.0),
        (":-1", 0.8),
        ("::-1", 0.8),
        ("::2", 0.3),
        ("1::2", 0.3),
        ("2:", 0.3),
        (":2", 0.2),
    ):
        yield replace("slice.add", site, f"{inner}[{bounds}]", ATOM, weight * known)
    visible = [v for v in scene.visible(site) if v.name != text]
    numbers = [v for v in visible if base(v.kind) == "int"][:5]
    numbers += [v for v in visible if not v.kind][: 5 - len(numbers)]
    for position, variable in enumerate(numbers):
        for bounds in (f"{variable.name}:", f":{variable.name}", f"{variable.name} + 1:", f":{variable.name} + 1"):
            yield replace("slice.add", site, f"{inner}[{bounds}]", ATOM, 0.7 * known * 0.8**position)
    wanted_one = fit(wanted, element(kind))
    for place, weight in (("0", 0.8), ("-1", 0.8), ("1", 0.4)):
        yield replace("index.add", site, f"{inner}[{place}]", ATOM, weight * known * wanted_one)
    for position, variable in enumerate(numbers):
        yield replace("index.add", site, f"{inner}[{variable.name}]", ATOM, 0.8 * known * wanted_one * 0.8**position)


MAX_KEYS = 6


def _as_elsewhere(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`self.kept` → `self.kept['name']`, `d[k]` → `d[j]`: as the file looks things up in it elsewhere."""
    if site.slot in ("func", "attr", "keyword", "target") or isinstance(site.parent and site.parent.node, cst.Expr):
        return
    whole = (
        site.parent if site.slot == "value" and isinstance(site.parent and site.parent.node, cst.Subscript) else None
    )
    text, place = scene.source.text(site), whole or site
    now = scene.source.data[site.outer[1] : whole.end].decode() if whole is not None else ""
    visible, scope = {v.name for v in scene.visible(site)}, set(scene.names(site.function))
    known = scene.vocabulary.usage.subscripts.get(text, {})
    offers = [key for key, names in known.items() if key != now and not (names & scope) - visible]
    for position, key in enumerate(offers[:MAX_KEYS]):
        yield replace("index.add", place, f"{text}{key}", ATOM, 3.0 * 0.85**position)


RULES = (
    Operator((cst.Name, cst.Attribute), _as_elsewhere),
    Operator((cst.Slice,), _slice),
    Operator((cst.Index,), _index),
    Operator((cst.BaseExpression,), _add),
)
