"""What a value rests on: the sources that its reader has to trust."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundwire.auditing.conditions import Test

__all__ = ["NOTHING", "OUTSIDE", "Kind", "Taint", "Taints", "counts", "join", "key", "reason", "unknown", "world"]


class Kind(StrEnum):
    """The sources that are told apart."""

    MODEL = "model"
    """What a model said. `detail`: `text`, or `fields` of a structured reply."""
    WORLD = "world"
    """Something outside answered. `detail`: exec, search, http, sql, file, env or tool."""
    HUMAN = "human"
    FORM = "form"
    """A parser or validator: says whether a reply has the right form, and nothing about what it claims."""
    CHECK = "check"
    """A deterministic check of a reply against something given."""
    ASK = "ask"
    """Whether a model asked for a tool."""
    COUNTER = "counter"
    CHANCE = "chance"
    SHRINK = "shrink"
    """A list from which an item was taken."""
    GROW = "grow"
    """A list to which an item was added."""
    KEY = "key"
    """A key of the state. `detail`: its name."""
    LAST = "last"
    """The last item of a list in the state. `detail`: its name."""
    LENGTH = "length"
    """The length of what lies under a key of the state. `detail`: its name."""
    COMPARE = "compare"
    """The outcome of a comparison, `test`."""
    FIXED = "fixed"
    """Given from outside the graph and not changed by it: an argument, a setting."""
    UNKNOWN = "unknown"
    """`detail`: why it can't be told."""


@dataclass(frozen=True, slots=True)
class Taint:
    """One source of a value."""

    kind: Kind
    detail: str = ""
    what: str = ""
    """The call or name it came from, for people."""
    test: Test | None = None


Taints = frozenset[Taint]
NOTHING: Taints = frozenset()
OUTSIDE = frozenset({Kind.WORLD, Kind.HUMAN, Kind.FORM, Kind.CHECK})


def join(parts: Iterable[Taints]) -> Taints:
    """All sources of several values."""
    found = NOTHING
    for part in parts:
        if part and part is not found:
            found = found | part if found else part
    return found


def key(name: str) -> Taints:
    """Read from the state."""
    return frozenset({Taint(Kind.KEY, name)})


def reason(taints: Taints) -> str:
    """Why something can't be told: the same of several each time, or empty."""
    return min((t.detail for t in taints if t.kind is Kind.UNKNOWN and t.detail), default="")


def unknown(why: str) -> Taints:
    """Can't be told, and why."""
    return frozenset({Taint(Kind.UNKNOWN, why)})


def counts(taints: Taints) -> bool:
    """True if nothing but counting and fixed things is in it."""
    return all(t.kind in {Kind.KEY, Kind.COUNTER, Kind.FIXED} for t in taints)


def world(detail: str, what: str) -> Taints:
    """Something outside answered."""
    return frozenset({Taint(Kind.WORLD, detail, what)})
