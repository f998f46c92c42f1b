"""What was left out around a value: an attribute, a method call, `self.`, a bound, a copy."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._kinds import NUMBERS, base
from groundwire.agents.search._precedence import ATOM, binding
from groundwire.agents.search._source import Proposal, Site
from groundwire.agents.search.operators._base import Operator, replace

MAX_OFFERS = 12
NEAREST = 6
_WORDS = ("True", "False", "None")


def _is_place(site: Site) -> bool:
    """True where something may be put behind a value that is read."""
    parent = site.parent.node if site.parent is not None else None
    if site.slot in ("attr", "keyword", "target") or isinstance(parent, cst.Decorator):
        return False
    return isinstance(site.node, (cst.Name, cst.Attribute, cst.Subscript, cst.Call)) and not (
        isinstance(site.node, cst.Name) and site.node.value in _WORDS
    )


def _attribute(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`x` → `x.name`: an attribute that the file reads, of the same object before those of others."""
    if not _is_place(site) or site.slot == "func" or isinstance(site.node, cst.Call):
        return
    usage, text = scene.vocabulary.usage, scene.source.text(site)
    own = [name for name, called in usage.attributes.get(text, {}).items() if not called]
    rest = [n for of in usage.attributes.values() for n, called in of.items() if not called]
    if isinstance(site.parent and site.parent.node, cst.Attribute):
        rest = []  # `x.f()` → `x.name.f()` only where x has that name elsewhere
    for position, name in enumerate(list(dict.fromkeys((*own, *rest)))[:MAX_OFFERS]):
        yield replace("attribute.add", site, f"{text}.{name}", ATOM, (1.0 if name in own else 0.25) * 0.93**position)


def _method(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`x` → `x.method(…)`: a call that the file makes elsewhere; a statement that is nothing but a value lost one."""
    if not _is_place(site) or site.slot == "func" or isinstance(site.parent and site.parent.node, cst.Attribute):
        return
    usage, text = scene.vocabulary.usage, scene.source.text(site)
    bare = isinstance(site.parent and site.parent.node, cst.Expr)
    if bare and isinstance(site.node, cst.Call):
        return
    visible = {v.name for v in scene.visible(site)} | {"self", "cls"}
    scope = set(scene.names(site.function))
    own = {name for name, called in usage.attributes.get(text, {}).items() if called}
    offers: list[tuple[float, str]] = []
    for suffix, names in usage.suffixes.items():
        if (names & scope) <= visible:
            known = 1.0 if suffix[1:].partition("(")[0] in own else 0.3
            offers.append((known * (1.0 if suffix.endswith("()") or bare else 0.4), suffix))
    if bare:
        for variable in scene.visible(site)[:NEAREST]:
            offers += [(0.8, f".{name}({variable.name})") for name in ("append", "add", "extend", "update")]
    offers.sort(key=lambda offer: -offer[0])
    scale = 1.0 if bare else 0.35
    for position, (weight, suffix) in enumerate(offers[: 3 * MAX_OFFERS if bare else MAX_OFFERS]):
        yield replace("method.add", site, f"{text}{suffix}", ATOM, scale * weight * 0.97**position)


def _own(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`x` → `self.x` and back, where both exist."""
    function = site.function
    if function is None or not isinstance(function.node, cst.FunctionDef) or site.slot in ("keyword", "attr"):
        return
    parameters = function.node.params.params
    first = parameters[0].name.value if parameters else ""
    if first not in ("self", "cls"):
        return
    match site.node:
        case cst.Name(value=name) if name in scene.unbound(function):
            yield replace("attribute.self", site, f"{first}.{name}", ATOM, 3.0)
        case cst.Name(value=name) if name in scene.vocabulary.usage.attributes.get(first, {}):
            yield replace("attribute.self", site, f"{first}.{name}", ATOM)
        case cst.Attribute(value=cst.Name(value=owner), attr=attr) if owner == first:
            if any(v.name == attr.value for v in scene.visible(site)):
                yield replace("attribute.self", site, attr.value, ATOM)
        case _:
            pass


def _bound(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`x` → `max(x, 0)`, `min(x, y)`: a value that may leave its range."""
    kind = base(scene.kind(site))
    if kind not in (*NUMBERS, "") or not _is_place(site) or site.slot in ("func", "iter"):
        return
    if isinstance(site.parent and site.parent.node, (cst.Attribute, cst.Subscript, cst.Expr)):
        return
    if not kind and not isinstance(site.node, cst.Name):
        return
    text = scene.source.text(site)
    known = 1.0 if kind else 0.3
    numbers = [v.name for v in scene.visible(site) if base(v.kind) in NUMBERS and v.name != text][:3]
    for position, other in enumerate(("0", "1", *numbers)):
        for function in ("max", "min"):
            likely = 1.0 if (function == "max") == other.isdigit() else 0.5
            yield replace("call.bound", site, f"{function}({text}, {other})", ATOM, known * likely * 0.8**position)


def _copy(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`a = b` → `a = list(b)`: what is changed later was meant to be a copy; so is what a loop goes through."""
    iterated = site.slot == "iter" and isinstance(site.parent and site.parent.node, cst.For)
    given = site.slot == "value" and isinstance(site.parent and site.parent.node, (cst.Assign, cst.Return, cst.Arg))
    if not (iterated or given) or not isinstance(site.node, (cst.Name, cst.Attribute)):
        return
    kind, text = base(scene.kind(site)), scene.source.text(site)
    if text in _WORDS or kind not in ("list", "dict", "set", "iter", ""):
        return
    assert isinstance(site.node, cst.BaseExpression) and binding(site.node) >= ATOM
    known = 1.0 if kind else 0.3
    function = kind if kind in ("dict", "set") else "list"
    yield replace("call.copy", site, f"{function}({text})", ATOM, known)
    yield replace("call.copy", site, f"{text}.copy()", ATOM, 0.7 * known)


RULES = (
    Operator((cst.Name, cst.Attribute, cst.Subscript), _attribute),
    Operator((cst.Name, cst.Attribute, cst.Subscript, cst.Call), _method),
    Operator((cst.Name, cst.Attribute), _own),
    Operator((cst.Name, cst.Attribute, cst.Subscript, cst.Call), _bound),
    Operator((cst.Name, cst.Attribute), _copy),
)
