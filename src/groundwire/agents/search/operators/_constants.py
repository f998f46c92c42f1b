"""Constants: off by one, other numbers, other texts, other initial values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._habits import counterparts
from groundwire.agents.search._kinds import fit
from groundwire.agents.search._precedence import ATOM, UNARY
from groundwire.agents.search._source import Proposal, Replacement, Site
from groundwire.agents.search._vocabulary import int_value
from groundwire.agents.search.operators._base import Operator, replace

MAX_NAMES = 8


def _integer(site: Site, scene: EditContext) -> Iterator[Proposal]:
    value = int_value(site)
    if value is None:
        return
    in_sign = isinstance(site.parent and site.parent.node, cst.UnaryOperation)
    offered = {value}
    for new, name, weight in (
        (value + 1, "const.off_by_one", 1.0),
        (value - 1, "const.off_by_one", 1.0),
        (0, "const.replace", 0.6),
        (1, "const.replace", 0.6),
        (2, "const.replace", 0.4),
        (-1, "const.replace", 0.3),
        (value + 2, "const.replace", 0.2),
        (value * 2, "const.replace", 0.2),
        (value - 2, "const.replace", 0.15),
        (-value, "const.replace", 0.2),
        (10, "const.replace", 0.1),
        (3, "const.replace", 0.15),
        (value * 10, "const.replace", 0.05),
        (value // 2, "const.replace", 0.1),
    ):
        if new not in offered and not (in_sign and new < 0):
            offered.add(new)
            if new == 0 and (left := _term(site)) is not None:
                # `n - 0` is n, and `key - 0` fails for what is no number
                yield Proposal(name, (Replacement(left.outer[1], site.end, ""),), weight)
                continue
            yield replace(name, site, str(new), ATOM if new >= 0 else UNARY, weight)
    for position, borrowed in enumerate(scene.vocabulary.numbers):
        if borrowed not in offered and isinstance(borrowed, int) and not (in_sign and borrowed < 0):
            offered.add(borrowed)
            yield replace("const.borrow", site, str(borrowed), ATOM if borrowed >= 0 else UNARY, 0.9**position)


def _term(site: Site) -> Site | None:
    """What a number is added to, or taken from."""
    parent = site.parent
    if site.slot != "right" or parent is None or not isinstance(parent.node, cst.BinaryOperation):
        return None
    left = parent.child("left")
    plain = isinstance(parent.node.operator, (cst.Add, cst.Subtract)) and not parent.node.right.lpar
    return left if plain else None


def _float(site: Site, scene: EditContext) -> Iterator[Proposal]:
    if not isinstance(site.node, cst.Float):
        return
    value = float(site.node.value)
    offered = {repr(value), site.node.value}
    candidates = [value + 1, value - 1, 0.0, 1.0, 2.0, 0.5, value * 2, value / 2, value * 10, value / 10]
    if value:
        candidates.append(1 / value)
    for position, new in enumerate(candidates):
        text = repr(new)
        if text not in offered and new >= 0 and len(text) < 12:
            offered.add(text)
            yield replace("const.replace", site, text, ATOM, 0.95**position)
    for position, borrowed in enumerate(scene.vocabulary.numbers):
        text = repr(borrowed)
        if text not in offered and borrowed >= 0:
            offered.add(text)
            yield replace("const.borrow", site, text, ATOM, 0.8**position)


def _string(site: Site, scene: EditContext) -> Iterator[Proposal]:
    node = site.node
    if not isinstance(node, cst.SimpleString) or node.prefix.lower() not in ("", "r", "u") or len(node.quote) > 1:
        return
    value = node.evaluated_value
    if not isinstance(value, str):
        return
    offered = {value}
    for name, new, weight in _variations(value, scene):
        if new not in offered:
            offered.add(new)
            yield replace(name, site, _quoted(new, node.quote), ATOM, weight)


def _variations(value: str, scene: EditContext) -> Iterator[tuple[str, str, float]]:
    if value.lower() != value:
        yield "str.case", value.lower(), 0.6
    if value.upper() != value:
        yield "str.case", value.upper(), 0.6
    if value.capitalize() not in (value, value.upper()):
        yield "str.case", value.capitalize(), 0.5
    for other in scene.vocabulary.names_like(value):
        yield "str.borrow", other, 1.0
    for other in counterparts(value):
        yield "str.const", other, 1.0
    yield "str.const", "", 0.6 if len(value) <= 1 else 0.3
    if value != " ":
        yield "str.const", " ", 0.4 if len(value) <= 1 else 0.1
    for position, borrowed in enumerate(scene.vocabulary.strings(value)):
        similar = 1.0 if abs(len(borrowed) - len(value)) <= 2 else 0.4
        yield "str.borrow", borrowed, similar * 0.9**position
    if 1 < len(value) <= 40:
        for position in range(len(value)):
            edge = 1.0 if position in (0, len(value) - 1) else 0.5
            yield "str.delete", value[:position] + value[position + 1 :], edge
    for extra, weight in ((" ", 0.6), (",", 0.2), ("\n", 0.2), (".", 0.2)):
        yield "str.insert", value + extra, weight
        yield "str.insert", extra + value, weight * 0.5


def _quoted(value: str, quote: str) -> str:
    text = repr(value)
    if text[0] == quote or quote in value or text[0] in text[1:-1]:
        return text
    return f"{quote}{text[1:-1]}{quote}"


_INITIAL: dict[str, tuple[tuple[str, float], ...]] = {
    "int": (
        ("0", 1.0),
        ("1", 1.0),
        ("-1", 0.5),
        ("None", 0.3),
        ("float('inf')", 0.3),
        ("float('-inf')", 0.3),
        ("2", 0.3),
    ),
    "float": (("0.0", 1.0), ("1.0", 1.0), ("float('inf')", 0.4), ("float('-inf')", 0.4)),
    "str": (("''", 1.0), ("None", 0.4), ("[]", 0.2)),
    "list": (("[]", 1.0), ("{}", 0.2), ("set()", 0.2), ("''", 0.1)),
    "none": (("0", 0.6), ("''", 0.5), ("[]", 0.6), ("False", 0.5), ("float('inf')", 0.2), ("{}", 0.3)),
    "bool": (("None", 0.3),),
    "set": (("[]", 0.5), ("{}", 0.3)),
    "dict": (("[]", 0.3), ("set()", 0.4)),
}


def _initial(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """The first value of a variable, and the value that a branch returns when there is nothing to do."""
    if site.slot != "value" or not isinstance(site.parent and site.parent.node, (cst.Assign, cst.Return)):
        return
    if not isinstance(
        site.node, (cst.Integer, cst.Float, cst.SimpleString, cst.List, cst.Name, cst.UnaryOperation, cst.Dict)
    ):
        return
    kind = scene.kind(site).split("/")[0]
    text = scene.source.text(site)
    if isinstance(site.node, cst.Name) and text not in ("None", "True", "False"):
        return
    offered = {text}
    for new, weight in (*_INITIAL.get(kind, ()), *_INITIAL.get(scene.wanted(site).split("/")[0], ())):
        if new not in offered and not (isinstance(site.node, cst.Integer) and new.lstrip("-").isdigit()):
            offered.add(new)
            yield replace("init.value", site, new, ATOM if new[0] != "-" else UNARY, weight)


def _everywhere(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """One wrong number that a function uses more than once changes at all its places, or at two of few."""
    places: dict[int, list[Site]] = {}
    for inner in site.walk():
        value = int_value(inner)
        if value is not None and inner.function is site:
            places.setdefault(value, []).append(inner)
    for value, sites in places.items():
        if 1 < len(sites) <= 6:
            some = [sites, *(list(pair) for pair in combinations(sites, 2))] if 2 < len(sites) < 5 else [sites]
            for new, weight in ((value + 1, 1.0), (value - 1, 1.0), (0, 0.4), (1, 0.4), (2, 0.4)):
                for changed in some if new >= 0 and new != value else ():
                    splices = tuple(Replacement(s.start, s.end, str(new)) for s in changed)
                    yield Proposal("const.everywhere", splices, weight * (1.0 if changed is sites else 0.5))


def _shift_all(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """All plain numbers that a function returns are off by one, each by the same."""
    values = [
        v for r in site.walk() if isinstance(r.node, cst.Return) and r.function is site and (v := r.child("value"))
    ]
    numbers = [(v, n) for v in values if (n := int_value(v)) is not None]
    if 1 < len(numbers) <= 6:
        for step in (-1, 1):
            if all(n + step >= 0 for _, n in numbers):
                splices = tuple(Replacement(v.start, v.end, str(n + step)) for v, n in numbers)
                yield Proposal("const.shift_all", splices)


_NAMED = ("True", "False", "None")


def _name(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """A literal stands where a variable was meant."""
    if isinstance(site.node, cst.Name) and site.node.value not in _NAMED:
        return
    if site.slot == "default" or isinstance(site.parent and site.parent.node, (cst.Expr, cst.Assert)):
        return
    kind = scene.kind(site)
    for position, variable in enumerate(scene.visible(site)[:MAX_NAMES]):
        weight = 0.5 if kind == "none" else fit(kind, variable.kind)
        yield replace("const.name", site, variable.name, ATOM, weight * 0.9**position)


def _other_type(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`'1'` → `1`, `0` → `None`, `None` → `()`: a literal of another type."""
    text = scene.source.text(site)
    match site.node:
        case cst.List(elements=[]):
            offers = ["{}", "()", "set()", "None", "''"]
        case cst.Dict(elements=[]):
            offers = ["[]", "set()", "None"]
        case cst.Tuple(elements=[]):
            offers = ["[]", "None", "''"]
        case cst.Call(func=cst.Name(value="set"), args=[]):
            offers = ["[]", "{}", "frozenset()"]
        case cst.Name(value="None"):
            offers = ["0", "''", "()", "False", "1", "True", "[]", "{}"]
        case cst.Name(value="True" | "False"):
            offers = ["None", "1" if text == "True" else "0"]
        case cst.Integer():
            offers = ["None", f"{text}.0" if text.isdigit() else "0.0", f"'{text}'", "True" if text == "1" else "False"]
        case cst.Float(value=value):
            offers = ["None", value.partition(".")[0] or "0"]
        case cst.SimpleString(prefix=prefix, raw_value=raw):
            offers = ["None", raw if raw.isdigit() else "()"]
            offers.append(text[len(prefix) :] if "b" in prefix.lower() else f"b{text}" if not prefix else "''")
        case _:
            return
    for position, offer in enumerate(offers):
        if offer != text:
            yield replace("const.type", site, offer, ATOM, 0.8**position)


TOKENS = (Operator((cst.Integer,), _integer), Operator((cst.SimpleString,), _string))
"""What changes one token."""

RULES = (
    *TOKENS,
    Operator((cst.FunctionDef,), _everywhere),
    Operator((cst.FunctionDef,), _shift_all),
    Operator((cst.Float,), _float),
    Operator((cst.Integer, cst.Float, cst.SimpleString, cst.Name), _name),
    Operator(
        (cst.Integer, cst.Float, cst.SimpleString, cst.Name, cst.List, cst.Dict, cst.Tuple, cst.Call), _other_type
    ),
    Operator((cst.BaseExpression,), _initial),
)
