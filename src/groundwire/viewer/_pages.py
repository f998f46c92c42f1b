"""Sets what is looked at into pages. All of it may be hostile, so all of it is escaped and made visible: no control
character, no mark that reorders a line, reaches the page."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from groundwire.core._records import StopReason
from groundwire.core._text import HIDDEN, plain, plural
from groundwire.memory._browsing import Hit
from groundwire.viewer._ledgers import as_data

MARKS = {"pass": "✓", "fail": "✗", "none": "–", "open": "…"}
RESULTS = {
    "passed": ("✓", "pass"), "failed": ("✗", "fail"), "error": ("!", "fail"), "skipped": ("–", "none"),
    "xfailed": ("x", "pass"), "xpassed": ("X", "pass"), "": ("", "absent"),
}  # fmt: skip
ENDS: Mapping[StopReason, str] = {
    StopReason.VERIFIED: "verified",
    StopReason.ALREADY_PASSING: "passed as it was",
    StopReason.INTERNAL_PASS: "internal pass, not verified",
    StopReason.HIDDEN_FAILED: "hidden tests failed",
    StopReason.HIDDEN_LEAK: "hidden tests nearly leaked",
    StopReason.EXHAUSTED: "nothing new to propose",
    StopReason.STUCK: "only repeats",
    StopReason.REFUSED: "the gate refused",
    StopReason.NO_VERDICT: "no verdict",
    StopReason.BUDGET_TRIALS: "trials used up",
    StopReason.BUDGET_STEPS: "steps used up",
    StopReason.BUDGET_USD: "money used up",
    StopReason.BUDGET_TOKENS: "tokens used up",
    StopReason.BUDGET_CALLS: "calls used up",
    StopReason.BUDGET_RUN: "the run's budget used up",
    StopReason.BUDGET_SECONDS: "time used up",
    StopReason.BUDGET_REFINEMENTS: "refinements used up",
    StopReason.MODEL_ERROR: "the model failed",
    StopReason.STORAGE_ERROR: "the ledger failed",
    StopReason.INTERNAL_ERROR: "a part failed",
    StopReason.CONTRADICTION: "said to be contradictory",
    StopReason.INTERRUPTED: "interrupted",
}
"""Why an episode ended, in a few words."""
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,40}[mK]")
"""How programs colour a line of a terminal: it says nothing on a page. Whatever else can't be seen is marked."""
TEXT_CHARS = 60_000
"""Of one text that is set into a page; the whole of it can be downloaded."""


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("groundwire.viewer"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_inert,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: Mapping[str, Any] = {
        "plain": _plain,
        "block": block,
        "seconds": seconds,
        "dollars": dollars,
        "count": count,
        "moment": moment,
        "plural": plural,
        "pretty": pretty,
        "short": short,
        "ended": ended,
        "marked": marked,
        "place_of": place_of,
    }
    for name, filter_ in filters.items():
        environment.filters[name] = filter_
    named: Any = environment.globals
    named.update(MARKS=MARKS, RESULTS=RESULTS)
    return environment


def render(name: str, **values: Any) -> str:
    """A page or a part of one.

    Args:
        name: of the template.
        values: what it shows.
    """
    return _environment().get_template(name).render(**values)


def asset(name: str) -> str:
    """A stylesheet or script of ours.

    Raises:
        KeyError: there is none of that name.
    """
    if name not in ("viewer.css", "viewer.js"):
        raise KeyError(name)
    return files("groundwire.viewer").joinpath("static", name).read_text(encoding="utf-8")


def _inert(value: object) -> object:
    """Whatever a template sets into a page, with nothing in it that can't be seen, also where no filter was named."""
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return block(value, limit=len(value))


def _plain(text: object, limit: int = 200) -> str:
    return plain(_COLOUR.sub("", str(text)[: limit * 8]), limit=limit)


def block(text: object, limit: int = TEXT_CHARS) -> str:
    """Text of many lines with its spacing, and nothing in it that can't be seen."""
    said = str(text)
    shown = "".join(
        c if c in "\n\t" or unicodedata.category(c) not in HIDDEN else "" if c == "\r" else "�"
        for c in _COLOUR.sub("", said[:limit])
    )
    return shown if len(said) <= limit else f"{shown}\n… {len(said) - limit:,} characters more"


def marked(text: str, found: str) -> Markup:
    """A line with what was looked for made to stand out."""
    before, shown, after = _around(_plain(text, 400), found)
    return Markup("{}<mark>{}</mark>{}").format(before, shown, after) if shown else escape(before)


def place_of(hit: Hit) -> str:
    """The page that shows what a search found."""
    episode, place = quote(hit.episode_id, safe=""), quote(hit.place, safe="")
    match hit.kind:
        case "prompt" | "answer":
            return f"/episode/{episode}/call/{place}"
        case "observation":
            return f"/signal/{place}"
        case "reflection":
            return f"/lesson/{place}"
        case "candidate":
            return f"/episode/{episode}/candidate/{place}"
        case _:
            return f"/episode/{episode}#trial-{hit.trial}"


def _around(text: str, found: str) -> tuple[str, str, str]:
    at = text.lower().find(" ".join(found.lower().split())) if found.split() else -1
    end = at + len(" ".join(found.split()))
    return (text[:at], text[at:end], text[end:]) if at >= 0 else (text, "", "")


def seconds(value: float | None) -> str:
    """Wall seconds, as people say them."""
    if value is None:
        return ""
    if value < 0.0995:
        return f"{value * 1000:.0f} ms"
    return f"{value:.1f} s" if value < 120 else f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


def dollars(value: float | None) -> str:
    """A price; an unknown one is said to be so."""
    if value is None:
        return "price unknown"
    return "$0" if value == 0 else f"${value:.4f}" if value < 1 else f"${value:,.2f}"


def ended(reason: str) -> str:
    """Why an episode ended, as people say it; what is not known stays as it is."""
    return ENDS.get(StopReason(reason), reason) if reason in set(StopReason) else reason


def count(value: float) -> str:
    """A number with its thousands apart."""
    return f"{value:,}"


def moment(text: str) -> str:
    """A time of the ledger, to the second, with its zone."""
    shown = text[:19].replace("T", " ")
    return f"{shown} UTC" if text.endswith(("+00:00", "Z")) else shown


def short(identifier: str) -> str:
    """The beginning of an id or digest, enough to tell it by."""
    return plain(identifier, limit=200)[:13]


def pretty(value: object) -> str:
    """JSON, or what a text of JSON holds, on many lines."""
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return str(value)
    return json.dumps(as_data(value), indent=2, ensure_ascii=False)


def parameters(**given: str | int) -> Mapping[str, str]:
    """Those that say something, for an address."""
    return {name: str(value) for name, value in given.items() if value not in ("", 0)}
