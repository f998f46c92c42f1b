"""Loops: bounds of ranges, what is iterated, leaving early."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from groundwire.agents.search._kinds import ITERABLES, base
from groundwire.agents.search._precedence import ATOM, SUM, binding
from groundwire.agents.search._scene import Scene
from groundwire.agents.search._source import Proposal, Site, Splice
from groundwire.agents.search.operators._base import Rule, delimited, replace


def _range(site: Site, scene: Scene) -> Iterator[Proposal]:
    func, arguments = site.child("func"), site.all("args")
    if func is None or not isinstance(func.node, cst.Name) or func.node.value != "range" or not arguments:
        return
    texts = [scene.source.text(a) for a in arguments]
    plus = [_shifted(a, t, "+ 1") for a, t in zip(arguments, texts, strict=True)]
    minus = [_shifted(a, t, "- 1") for a, t in zip(arguments, texts, strict=True)]
    offers: list[tuple[list[str], float]] = []
    if len(texts) == 1:
        offers = [
            ([plus[0]], 1.0), (["1", plus[0]], 0.9), (["1", texts[0]], 0.9), ([minus[0]], 0.8), (["2", texts[0]], 0.4),
            (["2", plus[0]], 0.4), (["0", texts[0], "2"], 0.3), ([minus[0], "-1", "-1"], 0.5),
            ([texts[0], "0", "-1"], 0.4), (["1", texts[0], "2"], 0.2),
        ]  # fmt: skip
    else:
        start, stop, *step = texts
        offers = [
            ([start, plus[1], *step], 1.0), ([start, minus[1], *step], 0.8), ([plus[0], stop, *step], 0.8),
            ([minus[0], stop, *step], 0.8), ([plus[0], plus[1], *step], 0.5), ([stop, *step], 0.5),
            (["0", stop, *step], 0.5), (["1", stop, *step], 0.5), (["2", stop, *step], 0.4),
            ([minus[0], minus[1], *step], 0.4), ([stop, start, *(step or ["-1"])], 0.3),
        ]  # fmt: skip
        offers += [([start, stop], 0.8), ([start, stop, f"-{step[0]}"], 0.4)] if step else [([start, stop, "2"], 0.3)]
    span = (arguments[0].start, arguments[-1].end)
    for parts, weight in offers:
        yield Proposal("loop.range_bounds", (Splice(*span, ", ".join(parts)),), weight)


def _shifted(argument: Site, text: str, term: str) -> str:
    opposite = "- 1" if term == "+ 1" else "+ 1"
    if text.endswith(opposite):
        return text[: -len(opposite)].rstrip()
    if text.lstrip("-").isdigit():
        return str(int(text) + (1 if term == "+ 1" else -1))
    value = argument.child("value")
    node = value.node if value is not None else None
    grouped = isinstance(node, cst.BaseExpression) and binding(node) < SUM
    return f"({text}) {term}" if grouped else f"{text} {term}"


def _iterated(site: Site, scene: Scene) -> Iterator[Proposal]:
    iterable = site.child("iter")
    if iterable is None:
        return
    text, kind = scene.source.text(iterable), base(scene.kind(iterable))
    loop = isinstance(site.node, cst.For)
    single = isinstance(site.node, (cst.For, cst.CompFor)) and isinstance(site.node.target, cst.Name)
    wraps = [("sorted({})", 0.6), ("reversed({})", 0.8), ("set({})", 0.4), ("list({})", 0.3 if loop else 0.1)]
    if single and kind in ("list", "str", ""):
        wraps.append(("range(len({}))", 0.3))
    if kind == "int":
        wraps += [("range({})", 1.0), ("str({})", 0.8)]
    if kind in ("str", ""):
        wraps += [("{}.split()", 0.5), ("{}.lower()", 0.3)]
    for template, weight in wraps:
        if not text.startswith(template.split("{", 1)[0] or "\0"):
            yield replace("loop.iterable", iterable, template.replace("{}", text), ATOM, weight)
    for position, variable in enumerate(
        v for v in scene.visible(site) if base(v.kind) in (*ITERABLES, "") and v.name != text
    ):
        yield replace("loop.iterable", iterable, variable.name, ATOM, 0.5 * 0.8**position)


def _leave(site: Site, scene: Scene) -> Iterator[Proposal]:
    small = site.all("body")
    if len(small) != 1:
        return
    in_loop = any(isinstance(a.node, (cst.For, cst.While)) and a.function is site.function for a in site.above())
    words = ("break", "continue", "pass") if in_loop else ("pass",)
    if isinstance(small[0].node, (cst.Break, cst.Continue, cst.Pass)):
        now = scene.source.text(small[0])
        for word in words:
            if word != now:
                yield delimited("loop.leave", small[0], word, 1.0)


RULES = (
    Rule((cst.Call,), _range),
    Rule((cst.For, cst.CompFor), _iterated),
    Rule((cst.SimpleStatementLine,), _leave),
)
