"""Conditions under which something is reached or chosen, and the sources that their outcome, or any value, rests on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import product
from typing import ClassVar
from weakref import WeakValueDictionary

# What a value rests on: the sources that its reader has to trust.


class TaintKind(StrEnum):
    """The sources that are told apart."""

    MODEL = "model"
    """What a model said. `detail`: `text`, `fields` of a structured reply, or `part` of a text."""
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

    kind: TaintKind
    detail: str = ""
    what: str = ""
    """The call or name it came from, for people."""
    test: Test | None = None


Taints = frozenset[Taint]
NOTHING: Taints = frozenset()
OUTSIDE = frozenset({TaintKind.WORLD, TaintKind.HUMAN, TaintKind.FORM, TaintKind.CHECK})


def join(parts: Iterable[Taints]) -> Taints:
    """All sources of several values."""
    found = NOTHING
    for part in parts:
        if part and part is not found:
            found = found | part if found else part
    return found


def drawn(taints: Taints) -> Taints:
    """Of something that was drawn out of replies: that it is there, or empty, is what they say."""
    return frozenset(
        Taint(t.kind, PART, t.what) if t.kind is TaintKind.MODEL and t.detail == "text" else t for t in taints
    )


PART = "part"
"""`detail` of a model's word that is no longer the whole of its reply."""


def key(name: str) -> Taints:
    """Read from the state."""
    return frozenset({Taint(TaintKind.KEY, name)})


def reason(taints: Taints) -> str:
    """Why something can't be told: the same of several each time, or empty."""
    return min((t.detail for t in taints if t.kind is TaintKind.UNKNOWN and t.detail), default="")


def unknown(why: str) -> Taints:
    """Can't be told, and why."""
    return frozenset({Taint(TaintKind.UNKNOWN, why)})


def counts(taints: Taints) -> bool:
    """True if nothing but counting and fixed things is in it."""
    return all(t.kind in {TaintKind.KEY, TaintKind.COUNTER, TaintKind.FIXED} for t in taints)


def world(detail: str, what: str) -> Taints:
    """Something outside answered."""
    return frozenset({Taint(TaintKind.WORLD, detail, what)})


# Conditions under which a statement is reached, as formulas over tests whose sources are known.

MAX_PATHS = 48
MAX_SIZE = 120


class Test:
    """One thing that is tested. Equal tests are one object: they hold sources that hold tests, and comparing those part
    by part would take for ever.

    Args:
        left: sources of what is tested.
        right: sources of what it is compared with.
        op: the comparison, or empty where a value's truth is tested.
        text: the source text, shortened; as a `Wording`, tests of values that were bound at different places differ.
        limit: a number that it is compared with.
        constant: it is compared with something written in the source.
    """

    __slots__ = ("__weakref__", "constant", "depth", "left", "limit", "op", "right", "text")
    _known: ClassVar[WeakValueDictionary[tuple[object, ...], Test]] = WeakValueDictionary()

    left: Taints
    right: Taints
    op: str
    text: str
    limit: float | None
    constant: bool
    depth: int
    """How many tests deep its sources go."""

    def __new__(
        cls,
        left: Taints,
        right: Taints = NOTHING,
        op: str = "",
        text: str = "",
        limit: float | None = None,
        constant: bool = False,
    ) -> Test:
        left, right = _bounded(left), _bounded(right)
        parts = (left, right, op, str(text), limit, constant)
        bound: tuple[int, ...] = getattr(text, "bound", ())
        known = cls._known.get((parts, bound))
        if known is None:
            known = super().__new__(cls)
            known.left, known.right, known.op, known.text, known.limit, known.constant = parts
            known.depth = 1 + max((t.test.depth for t in left | right if t.test is not None), default=0)
            cls._known[parts, bound] = known
        return known

    @property
    def taints(self) -> Taints:
        """All sources of its outcome."""
        return self.left | self.right


MAX_DEPTH = 6
MAX_TAINTS = 64


def _bounded(taints: Taints) -> Taints:
    """Sources that are no deeper and no more than can be followed; of the others only what lies at the bottom."""
    if not taints or (len(taints) <= MAX_TAINTS and all(t.test is None or t.test.depth < MAX_DEPTH for t in taints)):
        return taints
    return _bottom(taints)


@lru_cache(maxsize=1 << 14)
def _bottom(taints: Taints) -> Taints:
    found: set[Taint] = set()
    pending, seen = list(taints), set[int]()
    while pending:
        taint = pending.pop()
        if taint.test is None:
            found.add(taint)
        elif id(taint.test) not in seen:
            seen.add(id(taint.test))
            pending += taint.test.taints
    return frozenset(found)


Literal = tuple[Test, bool]


class Formula:
    """A condition: one literal, or all or any of some parts. Equal ones are one object, as tests are.

    Args:
        kind: leaf, all or any.
        parts: of all and any.
        literal: of a leaf.
    """

    __slots__ = ("__weakref__", "_opposite", "_sources", "kind", "literal", "parts", "size")
    _known: ClassVar[WeakValueDictionary[tuple[object, ...], Formula]] = WeakValueDictionary()

    kind: str
    parts: tuple[Formula, ...]
    literal: Literal | None
    size: int
    """Literals in it."""
    _sources: Taints | None
    _opposite: Formula | None

    def __new__(cls, kind: str, parts: tuple[Formula, ...] = (), literal: Literal | None = None) -> Formula:
        key = (kind, parts, literal)
        known = cls._known.get(key)
        if known is None:
            known = super().__new__(cls)
            known.kind, known.parts, known.literal = key
            known.size = 1 if literal is not None else sum(p.size for p in parts)
            known._sources = known._opposite = None
            cls._known[key] = known
        return known

    @property
    def sources(self) -> Taints:
        """What its outcome rests on: the tests in it."""
        if self._sources is None:
            if self.literal is not None:
                test = self.literal[0]
                self._sources = frozenset({Taint(TaintKind.COMPARE, what=test.text, test=test)})
            else:
                self._sources = join(p.sources for p in self.parts)
        return self._sources

    @property
    def opposite(self) -> Formula:
        """That it does not hold."""
        if self._opposite is None:
            if self.literal is not None:
                test, holds = self.literal
                self._opposite = when(test, holds=not holds)
            else:
                turned = [p.opposite for p in self.parts]
                self._opposite = any_of(turned) if self.kind == "all" else all_of(turned)
        return self._opposite


ALWAYS = Formula("all")
NEVER = Formula("any")


def when(test: Test, *, holds: bool = True) -> Formula:
    """The test comes out as `holds`."""
    return Formula("leaf", literal=(test, holds))


def all_of(parts: Iterable[Formula]) -> Formula:
    """Each of them holds."""
    flat: list[Formula] = []
    for part in parts:
        if part is NEVER:
            return NEVER
        flat += part.parts if part.kind == "all" else [part]
    return _joined("all", flat)


def any_of(parts: Iterable[Formula]) -> Formula:
    """At least one of them holds."""
    flat: list[Formula] = []
    for part in parts:
        if part is ALWAYS:
            return ALWAYS
        flat += part.parts if part.kind == "any" else [part]
    return _joined("any", flat)


def _joined(kind: str, flat: list[Formula]) -> Formula:
    unique = tuple(dict.fromkeys(flat))
    if len(unique) == 1:
        return unique[0]
    if sum(p.size for p in unique) > MAX_SIZE:
        return when(_doubtful(join(p.sources for p in unique)))
    return Formula(kind, unique)


def _doubtful(taints: Taints) -> Test:
    """A test that stands for a condition which is too long: nobody can tell how it comes out."""
    return Test(taints | unknown(TOO_LONG), text="a long condition")


TOO_LONG = "a condition too long to follow"


def negate(formula: Formula) -> Formula:
    """It does not hold."""
    return formula.opposite


def sources(formula: Formula) -> Taints:
    """What its outcome rests on: the tests in it."""
    return formula.sources


def paths(formula: Formula) -> list[frozenset[Literal]]:
    """Each way in which it can hold, as the literals that must then hold together.

    Where there are too many, one way whose single test can't be told: weaker, never stronger.
    """
    found = _paths(formula)
    if found is None:
        return [frozenset({(_doubtful(formula.sources), True)})]
    smallest = [p for p in found if not any(q < p for q in found)]
    return list(dict.fromkeys(smallest))


def _paths(formula: Formula) -> list[frozenset[Literal]] | None:
    if formula.literal is not None:
        return [frozenset({formula.literal})]
    inner: list[list[frozenset[Literal]]] = []
    for part in formula.parts:
        ways = _paths(part)
        if ways is None:
            return None
        inner.append(ways)
    if formula.kind == "any":
        united = [way for ways in inner for way in ways]
        return united if len(united) <= MAX_PATHS else None
    combined: list[frozenset[Literal]] = [frozenset()]
    for ways in inner:
        if len(combined) * len(ways) > MAX_PATHS:
            return None
        merged = (a | b for a, b in product(combined, ways))
        combined = [m for m in dict.fromkeys(merged) if not any((test, not holds) in m for test, holds in m)]
    return combined
