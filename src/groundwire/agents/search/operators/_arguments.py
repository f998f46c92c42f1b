"""Arguments, elements and pairs: exchanged, dropped or added."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import libcst as cst

from groundwire.agents.search._kinds import base
from groundwire.agents.search._scene import Scene
from groundwire.agents.search._source import Proposal, Site, Splice
from groundwire.agents.search.operators._base import Rule, exchange


def _arguments(site: Site, scene: Scene) -> Iterator[Proposal]:
    values = [value for a in site.all("args") if (value := a.child("value")) is not None]
    for position, first in enumerate(values):
        for second in values[position + 1 :]:
            yield exchange("args.swap", first, second, scene, 1.0 if second is values[position + 1] else 0.4)
    yield from _drop_one(site.all("args"), "args.drop", scene)


def _elements(site: Site, scene: Scene) -> Iterator[Proposal]:
    """Elements of a tuple, list or set trade places or go."""
    elements = site.all("elements")
    values = [value for e in elements if (value := e.child("value")) is not None]
    if len(values) <= 8:
        for position, first in enumerate(values):
            for second in values[position + 1 :]:
                if scene.source.text(first) != scene.source.text(second):
                    yield exchange("element.swap", first, second, scene, 1.0 if len(values) == 2 else 0.4)
    if len(values) > 1 and not (isinstance(site.node, cst.Tuple) and site.slot == "target"):
        yield from _drop_one(elements, "element.drop", scene)


def _dictionary(site: Site, scene: Scene) -> Iterator[Proposal]:
    pairs = site.all("elements")
    values = [value for p in pairs if (value := p.child("value")) is not None]
    for first, second in pairwise(values):
        yield exchange("element.swap", first, second, scene, 0.6)
    if len(pairs) > 1:
        yield from _drop_one(pairs, "element.drop", scene)


def _drop_one(items: list[Site], name: str, scene: Scene) -> Iterator[Proposal]:
    data = scene.source.data
    for position, item in enumerate(items):
        edge = 1.0 if position in (0, len(items) - 1) else 0.6
        if position + 1 < len(items):
            yield Proposal(name, (Splice(item.start, items[position + 1].start, ""),), edge)
        elif position:
            yield Proposal(name, (Splice(items[position - 1].end, item.end, ""),), edge)
        else:
            end = item.end
            if data[end : end + 1] == b",":
                end += 1
            yield Proposal(name, (Splice(item.start, end, ""),), edge)


def _add_argument(site: Site, scene: Scene) -> Iterator[Proposal]:
    """An argument that was forgotten: a variable in scope where the callee takes more, `reverse=True`, a key."""
    func, arguments = site.child("func"), site.all("args")
    if func is None:
        return
    name = _called_name(func)
    offset, prefix = (arguments[-1].end, ", ") if arguments else (_after_open(site, func, scene), "")
    if offset is None or (arguments and isinstance(arguments[-1].node, cst.Arg) and arguments[-1].node.star):
        return
    extra: list[tuple[str, float]] = []
    own = next((c for c in scene.callables if c.name == name), None)
    if own is not None and len(arguments) < own.most:
        extra += [(v.name, 0.9**i) for i, v in enumerate(scene.visible(site)[:8])]
    if name in ("sorted", "sort", "max", "min"):
        extra += _keys(site, scene, bool(arguments) or name == "sort")
        if name in ("sorted", "sort"):
            extra.append(("reverse=True", 1.0))
    if name in ("split", "strip", "rstrip", "lstrip") and not arguments:
        extra += [("' '", 0.5), ("','", 0.4)]
    if name in ("round", "int", "pow", "sum", "enumerate", "range", "get", "log"):
        extra += [("1", 0.5), ("2", 0.5), ("0", 0.4)]
    if name in ("max", "min") and arguments:
        extra += [(v.name, 0.6 * 0.9**i) for i, v in enumerate(scene.visible(site)[:6])]
        extra += [("0", 0.4), ("1", 0.3)]
    given = {scene.source.text(a).split("=")[0].strip() for a in arguments}
    for text, weight in extra:
        if text.split("=")[0] not in given:
            yield Proposal("args.add", (Splice(offset, offset, prefix + text),), weight)


def _keys(site: Site, scene: Scene, allowed: bool) -> list[tuple[str, float]]:
    if not allowed:
        return []
    keys = [("key=len", 0.6), ("key=abs", 0.3), ("key=str", 0.3), ("key=lambda x: -x", 0.2),
            ("key=lambda x: x[1]", 0.3), ("key=lambda x: x[0]", 0.2), ("key=str.lower", 0.2)]  # fmt: skip
    keys += [(f"key={v.name}.get", 0.6) for v in scene.visible(site) if base(v.kind) == "dict"]
    keys += [(f"key={c.name}", 0.4) for c in scene.callables if c.least <= 1 <= c.most]
    return keys


def _after_open(site: Site, func: Site, scene: Scene) -> int | None:
    opened = scene.source.data.find(b"(", func.end, site.end)
    return opened + 1 if opened >= 0 else None


def _called_name(func: Site) -> str:
    match func.node:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return name
        case _:
            return ""


RULES = (
    Rule((cst.Call,), _arguments),
    Rule((cst.Call,), _add_argument),
    Rule((cst.Tuple, cst.List, cst.Set), _elements),
    Rule((cst.Dict,), _dictionary),
)
