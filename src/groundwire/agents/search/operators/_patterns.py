"""Regular expressions: anchors, greed, how often, escapes and classes of letters."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._precedence import ATOM
from groundwire.agents.search._source import Proposal, Site
from groundwire.agents.search.operators._base import Operator, replace

_FUNCTIONS = frozenset({"compile", "match", "search", "fullmatch", "findall", "finditer", "sub", "subn", "split"})
_OTHER = {"*": "+", "+": "*", "?": "*"}
_CLASSES = ((r"\d", r"\w"), (r"\w", r"\S"), (r"\s", r"\S"), (r"\b", r"\B"), ("0-9", "0-9a-f"), ("a-z", "a-zA-Z"),
            ("A-Z", "A-Za-z"), ("a-zA-Z", "a-zA-Z0-9"), ("a-z", "a-z0-9"), ("[^", "["))  # fmt: skip
MAX_BYTES = 200
MAX_OFFERS = 40


def _pattern(site: Site, scene: EditContext) -> Iterator[Proposal]:
    node = site.node
    if not isinstance(node, cst.SimpleString) or len(node.quote) > 1 or "b" in node.prefix.lower():
        return
    if not _is_pattern(site) or len(node.raw_value) > MAX_BYTES:
        return
    now = node.evaluated_value
    raw, quote = node.raw_value, node.quote
    offered = {now}
    count = 0
    for text, weight in _variants(raw):
        try:
            value = re.compile(text) and text
        except (re.error, RecursionError, OverflowError):
            continue
        if value not in offered and not text.endswith("\\") and count < MAX_OFFERS:
            offered.add(value)
            count += 1
            yield replace("str.pattern", site, f"{node.prefix}{quote}{text}{quote}", ATOM, weight)


def _is_pattern(site: Site) -> bool:
    """True for the first argument of a function of `re`, and its parts."""
    outer = site
    while isinstance(outer.parent and outer.parent.node, (cst.ConcatenatedString, cst.BinaryOperation)):
        assert outer.parent is not None
        outer = outer.parent
    call = outer.parent.parent if outer.parent is not None and isinstance(outer.parent.node, cst.Arg) else None
    match call.node if call is not None else None:
        case cst.Call(func=cst.Attribute(value=cst.Name(value="re" | "regex"), attr=cst.Name(value=name))):
            return name in _FUNCTIONS and outer.parent is not None and outer.parent.index == 0
        case _:
            return False


def _variants(raw: str) -> Iterator[tuple[str, float]]:
    if raw[:1] != "^":
        yield f"^{raw}", 0.7
    if raw[-1:] != "$" and raw[-2:] != r"\Z":
        yield f"{raw}$", 1.0
    for word in ("^", "$"):
        place = raw.find(word) if word == "^" else raw.rfind(word)
        if place >= 0 and raw[place - 1 : place] not in ("\\", "["):
            yield raw[:place] + raw[place + 1 :], 0.7
    for old, new in _CLASSES:
        for one, other in ((old, new), (new, old)):
            for found in re.finditer(re.escape(one), raw):
                yield raw[: found.start()] + other + raw[found.end() :], 0.5
    for place, letter in enumerate(raw):
        escaped = place > 0 and raw[place - 1] == "\\"
        if letter in "*+?" and not escaped and place:
            yield raw[:place] + _OTHER[letter] + raw[place + 1 :], 1.0
            if letter in "*+" and raw[place + 1 : place + 2] != "?":
                yield raw[: place + 1] + "?" + raw[place + 1 :], 0.8
            yield raw[:place] + raw[place + 1 :], 0.6
        elif letter in ")]" and not escaped and raw[place + 1 : place + 2] not in ("*", "+", "?", "{"):
            yield from ((raw[: place + 1] + sign + raw[place + 1 :], 0.5) for sign in "?*+")
        elif letter == "." and not escaped and raw[place + 1 : place + 2] not in ("*", "+"):
            yield raw[:place] + r"\." + raw[place + 1 :], 0.8


RULES = (Operator((cst.SimpleString,), _pattern),)
