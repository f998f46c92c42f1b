"""Arguments, elements and pairs: exchanged, dropped or added."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

import libcst as cst

from groundwire.agents.search._edit_context import EditContext, Fit
from groundwire.agents.search._kinds import base
from groundwire.agents.search._source import Proposal, Replacement, Site
from groundwire.agents.search.operators._base import Operator, delimited, exchange, insert

MAX_GIVEN = 8
MAX_KEYWORDS = 30
UNFIT = 4.0
"""How much likelier an argument too few or too many is where the file shows that the function does not take so many."""


_FLAGS = ("re.IGNORECASE", "re.MULTILINE", "re.DOTALL")
_OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "open": ("encoding='utf-8'", "'rb'", "'w'", "newline=''"),
    "encode": ("'utf-8'", "errors='replace'", "errors='ignore'", "'ascii'"),
    "decode": ("'utf-8'", "errors='replace'", "errors='ignore'", "'latin-1'"),
    "read_text": ("encoding='utf-8'",), "write_text": ("encoding='utf-8'",), "next": ("None",), "pop": ("None", "0"),
    "getattr": ("None",), "setdefault": ("[]", "{}"), "max": ("default=0", "default=None"),
    "min": ("default=0", "default=None"), "dumps": ("sort_keys=True", "ensure_ascii=False"), "zip": ("strict=True",),
    "makedirs": ("exist_ok=True",), "mkdir": ("parents=True", "exist_ok=True"), "split": ("1", "None, 1"),
    "rsplit": ("1",), "splitlines": ("True",), "replace": ("1",), "compile": _FLAGS, "match": _FLAGS,
    "search": _FLAGS, "fullmatch": _FLAGS, "findall": _FLAGS, "finditer": _FLAGS,
    "sub": ("flags=re.IGNORECASE", "count=1"),
    "enumerate": ("start=1",), "sum": ("[]",), "print": ("end=''", "file=sys.stderr"),
}  # fmt: skip
"""Function or method → what it can be told besides, the likeliest first."""


def _arguments(site: Site, scene: EditContext) -> Iterator[Proposal]:
    values = [value for a in site.all("args") if (value := a.child("value")) is not None]
    for position, first in enumerate(values):
        for second in values[position + 1 :]:
            yield exchange("args.swap", first, second, scene, 1.0 if second is values[position + 1] else 0.4)
    yield from _drop_one(site.all("args"), "args.drop", scene, UNFIT if scene.fit_of(site) is Fit.TOO_MANY else 1.0)
    gathered = {text.lstrip("*"): text for text in _gathered(site)}
    for value in values:
        if (starred := gathered.get(scene.source.text(value))) and isinstance(
            value.parent and value.parent.node, cst.Arg
        ):
            yield insert("args.star", value.start, starred[: -len(scene.source.text(value))])


def _elements(site: Site, scene: EditContext) -> Iterator[Proposal]:
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


def _dictionary(site: Site, scene: EditContext) -> Iterator[Proposal]:
    pairs = site.all("elements")
    values = [value for p in pairs if (value := p.child("value")) is not None]
    for first, second in pairwise(values):
        yield exchange("element.swap", first, second, scene, 0.6)
    if len(pairs) > 1:
        yield from _drop_one(pairs, "element.drop", scene)


def _drop_one(items: list[Site], name: str, scene: EditContext, likely: float = 1.0) -> Iterator[Proposal]:
    data = scene.source.data
    for position, item in enumerate(items):
        edge = likely * (1.0 if position in (0, len(items) - 1) else 0.6)
        if position + 1 < len(items):
            yield Proposal(name, (Replacement(item.start, items[position + 1].start, ""),), edge)
        elif position:
            yield Proposal(name, (Replacement(items[position - 1].end, item.end, ""),), edge)
        else:
            end = item.end
            if data[end : end + 1] == b",":
                end += 1
            yield Proposal(name, (Replacement(item.start, end, ""),), edge)


def _add_argument(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """An argument that was forgotten: a variable in scope where the callee takes more, `reverse=True`, a key."""
    func, arguments = site.child("func"), site.all("args")
    if func is None:
        return
    name = _called_name(func)
    offset, prefix = (arguments[-1].end, ", ") if arguments else (_after_open(site, func, scene), "")
    if offset is None or (arguments and isinstance(arguments[-1].node, cst.Arg) and arguments[-1].node.star):
        return
    extra: list[tuple[str, float]] = []
    extra += [(text, 1.0 * 0.9**i) for i, text in enumerate(_OPTIONAL.get(name, ()))]
    own = next((c for c in scene.callables if c.name == name), None)
    if own is not None and len(arguments) < own.most:
        likely = UNFIT if scene.fit_of(site) is Fit.TOO_FEW else 1.0
        extra += [(v.name, likely * 0.9**i) for i, v in enumerate(scene.visible(site)[:8])]
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
            yield Proposal("args.add", (Replacement(offset, offset, prefix + text),), weight)


def _keys(site: Site, scene: EditContext, allowed: bool) -> list[tuple[str, float]]:
    if not allowed:
        return []
    keys = [("key=len", 0.6), ("key=abs", 0.3), ("key=str", 0.3), ("key=lambda x: -x", 0.2),
            ("key=lambda x: x[1]", 0.3), ("key=lambda x: x[0]", 0.2), ("key=str.lower", 0.2)]  # fmt: skip
    keys += [(f"key={v.name}.get", 0.6) for v in scene.visible(site) if base(v.kind) == "dict"]
    keys += [(f"key={c.name}", 0.4) for c in scene.callables if c.least <= 1 <= c.most]
    return keys


def _after_open(site: Site, func: Site, scene: EditContext) -> int | None:
    opened = scene.source.data.find(b"(", func.end, site.end)
    return opened + 1 if opened >= 0 else None


def _called_name(func: Site) -> str:
    match func.node:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return name
        case _:
            return ""


def _insert_argument(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """An argument that was forgotten, at any place: what this function is given elsewhere, or a variable in scope."""
    func, arguments = site.child("func"), site.all("args")
    if func is None or any(isinstance(v.node, cst.GeneratorExp) for a in arguments if (v := a.child("value"))):
        return
    name, usage = _called_name(func), scene.vocabulary.usage
    visible = [v.name for v in scene.visible(site)]
    scope = set(scene.names(site.function))
    here = {scene.source.text(a) for a in arguments}
    given = [t for t in usage.given.get(name, {}) if t not in here and not _words(t) & scope - set(visible)]
    offers = [(t, 1.0 * 0.9**i) for i, t in enumerate(given[:MAX_GIVEN])]
    offers += [(v, 0.7 * 0.85**i) for i, v in enumerate(v for v in visible if v not in here) if i < MAX_GIVEN]
    offers += [(text, 1.2) for text in _gathered(site) if text not in here]
    offers += [(owner, 0.3) for owner in ("self", "cls") if owner in _parameters(site) and owner not in here]
    keywords = [k for k in usage.keywords.get(name, {}) if not any(t.startswith(f"{k}=") for t in here)]
    offers += [(f"{k}={k}", 1.0) for k in keywords if k in visible]
    offers += [(f"{k}={v}", 0.6) for k in keywords for v in visible if k != v and (v.endswith(k) or k.endswith(v))]
    offers += [(f"{k}=self.{k}", 0.6) for k in keywords if k in usage.attributes.get("self", {})]
    offers += [(t, 0.8 * 0.9**i) for i, t in enumerate(_kept_elsewhere(arguments, scene))]
    offers += [(f"{k}={v}", 0.3) for k in keywords for v in ("True", "None")]
    places = [a.start for a in arguments if isinstance(a.node, cst.Arg) and a.node.keyword is None and not a.node.star]
    keyed = next(
        (a for a in arguments if isinstance(a.node, cst.Arg) and (a.node.keyword or a.node.star == "**")), None
    )
    likely = UNFIT if scene.fit_of(site) is Fit.TOO_FEW else 1.0
    for text, weight in ((text, likely * weight) for text, weight in offers):
        keyword = "=" in text.partition("(")[0] or text.startswith("*")
        if arguments:
            if keyed is None or keyword:
                yield insert("args.add", arguments[-1].end, f", {text}", weight)
            else:
                yield insert("args.add", keyed.start, f"{text}, ", weight)
            for position, place in enumerate(() if keyword else places):
                yield insert("args.add", place, f"{text}, ", weight * 0.6 * 0.8**position)
        elif (offset := _after_open(site, func, scene)) is not None:
            yield insert("args.add", offset, text, weight)


def _kept_elsewhere(arguments: list[Site], scene: EditContext) -> list[str]:
    """Keyword arguments that the file gives elsewhere, beside one that is given here too."""
    here = {k for a in arguments if isinstance(a.node, cst.Arg) and a.node.keyword and (k := a.node.keyword.value)}
    found = [t for k, texts in scene.vocabulary.usage.together.items() if k in here for t in texts]
    return [t for t in dict.fromkeys(found) if t.partition("=")[0] not in here][:MAX_GIVEN]


def _parameters(site: Site) -> list[str]:
    function = site.function.node if site.function is not None else None
    return [p.name.value for p in function.params.params] if isinstance(function, cst.FunctionDef) else []


def _gathered(site: Site) -> Iterator[str]:
    """`*args` and `**kwargs`, where the function around takes them."""
    function = site.function.node if site.function is not None else None
    if isinstance(function, cst.FunctionDef):
        for stars, parameter in (("*", function.params.star_arg), ("**", function.params.star_kwarg)):
            if isinstance(parameter, cst.Param):
                yield stars + parameter.name.value


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d]\w*", text))


def _keyword(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`end=stop` → `stop=stop`: a keyword that the function takes, or is given elsewhere."""
    func = site.child("func")
    if func is None:
        return
    usage = scene.vocabulary.usage
    known = usage.keywords.get(_called_name(func), {})
    every = dict.fromkeys(name for of in usage.keywords.values() for name in of)
    for argument in site.all("args"):
        keyword, value = argument.child("keyword"), argument.child("value")
        if keyword is None or value is None:
            continue
        now, same = scene.source.text(keyword), scene.source.text(value)
        offers = dict.fromkeys((*((same,) if same.isidentifier() else ()), *known, *every))
        for position, name in enumerate(o for o in offers if o != now):
            if position < MAX_KEYWORDS and name not in ("True", "False", "None"):
                near = 1.0 if name == same or name in known else 0.3
                yield delimited("args.keyword", keyword, name, near * 0.93**position)


def _add_element(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """An element that was forgotten in a tuple, list or set: a variable in scope, or what stands in another such."""
    elements = site.all("elements")
    if not elements or site.slot == "target" or len(elements) > 8:
        return
    here = {scene.source.text(e) for e in elements}
    offers = [v.name for v in scene.visible(site) if v.name not in here][:MAX_GIVEN]
    offers += [d.text for d in scene.donors_at(site) if _is_element(d.site) and d.text not in here][:MAX_GIVEN]
    for position, text in enumerate(dict.fromkeys(offers)):
        yield insert("element.add", elements[-1].end, f", {text}", 0.9**position)
        for element in elements:
            yield insert("element.add", element.start, f"{text}, ", 0.6 * 0.9**position)


def _is_element(site: Site) -> bool:
    return isinstance(site.parent and site.parent.node, cst.Element)


RULES = (
    Operator((cst.Call,), _arguments),
    Operator((cst.Call,), _add_argument),
    Operator((cst.Call,), _insert_argument),
    Operator((cst.Call,), _keyword),
    Operator((cst.Tuple, cst.List, cst.Set), _add_element),
    Operator((cst.Tuple, cst.List, cst.Set), _elements),
    Operator((cst.Dict,), _dictionary),
)
