"""What opens an edge: the strongest of the tests on each way, the weakest of the ways."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from groundwire.auditing.conditions import Literal, Test
from groundwire.auditing.judging.resolving import Round, resolve_test
from groundwire.auditing.taints import OUTSIDE, Kind, Taint, Taints, reason

__all__ = ["Basis", "Opening", "of_literal", "weakest"]


class Basis(IntEnum):
    """From nothing to a fact from outside; the higher, the more it takes to go round."""

    FREE = 0
    """Always, or by something that does not change while the loop runs."""
    COUNTER = 1
    ASIDE = 2
    """The model asks for a tool, or does not, where no tool is run on the way."""
    MODEL = 3
    ASK = 4
    """The model asks for a tool."""
    UNKNOWN = 5
    MIXED = 6
    """Something outside and a model's word in one value, or a list that a model fills again."""
    WORKLIST = 7
    OUTSIDE = 8


WEAKNESS = {
    Basis.FREE: 0,
    Basis.COUNTER: 0,
    Basis.ASIDE: 0,
    Basis.MODEL: 0,
    Basis.ASK: 0,
    Basis.UNKNOWN: 1,
    Basis.MIXED: 2,
    Basis.WORKLIST: 3,
    Basis.OUTSIDE: 4,
}
KINDS = {
    "exec": "executed code",
    "env": "environment",
    "http": "outside service",
    "sql": "database",
    "search": "retrieval",
    "file": "files",
    "tool": "tool results",
}
ORDER = (
    "executed code",
    "environment",
    "human",
    "database",
    "outside service",
    "tool results",
    "files",
    "retrieval",
    "check",
    "form only",
)


@dataclass(frozen=True)
class Opening:
    """What opens an edge.

    Args:
        basis: how much it takes.
        kind: of OUTSIDE: what is outside; in few words.
        text: the test.
        source: where its outcome comes from, in words.
        counted: every way also needs a counter.
        limit: the counter's limit, where it is written down.
        rests_on_person: all that is outside in it is a person's reply.
        refilled: a list that a model fills again.
    """

    basis: Basis
    kind: str = ""
    text: str = ""
    source: str = ""
    counted: bool = False
    limit: float | None = None
    rests_on_person: bool = False
    refilled: bool = False
    why: str = ""

    @property
    def words(self) -> str:
        """The test and its source, for people."""
        return f"{self.text} ← {self.source}" if self.source else self.text


def weakest(ways: list[frozenset[Literal]], at: int, *, before: list[bool], around: Round) -> Opening:
    """What opens an edge that has these ways."""
    openings = [_of_way(w, at, after=not b, around=around) for w, b in zip(ways, before, strict=True)]
    if not openings:
        return Opening(Basis.FREE)
    weak = min(WEAKNESS[o.basis] for o in openings)
    chosen = max((o for o in openings if WEAKNESS[o.basis] == weak), key=lambda o: o.basis)
    counted = all(o.counted or o.basis is Basis.WORKLIST for o in openings)
    limits = [o.limit for o in openings if o.limit is not None]
    return Opening(
        chosen.basis,
        chosen.kind,
        chosen.text,
        chosen.source,
        counted,
        max(limits) if counted and limits else None,
        chosen.rests_on_person,
        chosen.refilled,
        chosen.why,
    )


def _of_way(literals: frozenset[Literal], at: int, *, after: bool, around: Round) -> Opening:
    found = [
        of_literal(test, at, after=after, around=around)
        for test, _ in sorted(literals, key=lambda x: (x[0].text, x[1]))
    ]
    if not found:
        return Opening(Basis.FREE)
    strong = max(found, key=lambda o: (o.basis, -ORDER.index(o.kind) if o.kind in ORDER else -99))
    counters = [o for o in found if o.basis is Basis.COUNTER]
    limits = [o.limit for o in counters if o.limit is not None]
    return Opening(
        strong.basis,
        strong.kind,
        strong.text,
        strong.source,
        bool(counters),
        min(limits) if limits else None,
        strong.rests_on_person and all(o.rests_on_person for o in found if o.basis is Basis.OUTSIDE),
        strong.refilled,
        strong.why,
    )


def of_literal(test: Test, at: int, *, after: bool, around: Round) -> Opening:
    """What one test rests on, at this place of a way round."""
    taints = resolve_test(test, at, after=after, around=around)
    kinds = {t.kind for t in taints}
    outside = kinds & OUTSIDE
    source = _source(taints)
    refilled = _refilled(test, around) and Kind.MODEL in kinds
    shrinks = Kind.SHRINK in kinds
    if Kind.UNKNOWN in kinds:
        return Opening(Basis.UNKNOWN, text=test.text, source=source, why=reason(taints))
    if Kind.ASK in kinds:
        return Opening(Basis.ASK, text=test.text, source=source)
    if outside - {Kind.FORM} and Kind.MODEL in kinds:
        return Opening(Basis.MIXED, _kind(taints), test.text, source)
    if outside and Kind.MODEL not in kinds:
        return Opening(Basis.OUTSIDE, _kind(taints), test.text, source, rests_on_person=outside == {Kind.HUMAN})
    if refilled or (shrinks and Kind.MODEL in kinds):
        return Opening(Basis.MIXED, "refilled list", test.text, source, refilled=True)
    if shrinks or (Kind.COUNTER in kinds and any(t.kind is Kind.LENGTH and t.detail == "fixed" for t in taints)):
        return Opening(Basis.WORKLIST, text=test.text, source="items that are left")
    if Kind.MODEL in kinds:
        return Opening(Basis.MODEL, text=test.text, source=source)
    if kinds & {Kind.COUNTER, Kind.CHANCE}:
        return Opening(Basis.COUNTER, text=test.text, source="a counter", limit=test.limit)
    return Opening(Basis.FREE, text=test.text, source="fixed before the loop" if kinds else "")


def _refilled(test: Test, around: Round) -> bool:
    """A node on the way takes items off the list that is tested."""
    names = {t.detail for t in test.taints if t.kind in {Kind.KEY, Kind.LENGTH}}
    return any(
        name in facts.writes and any(t.kind is Kind.SHRINK for t in facts.writes[name].taints)
        for name in names
        for facts in (around.facts[n] for n in around.nodes if n in around.facts)
    )


def _kind(taints: Taints) -> str:
    found = {_word(t) for t in taints if t.kind in OUTSIDE}
    return next((k for k in ORDER if k in found), "")


def _word(taint: Taint) -> str:
    match taint.kind:
        case Kind.HUMAN:
            return "human"
        case Kind.CHECK:
            return "check"
        case Kind.FORM:
            return "form only"
        case _:
            return KINDS.get(taint.detail, "tool results")


def _source(taints: Taints) -> str:
    parts: list[str] = []
    for taint in sorted(taints, key=lambda t: (t.kind, t.detail, t.what)):
        match taint.kind:
            case Kind.WORLD:
                parts.append(f"{KINDS.get(taint.detail, 'outside')} ({_short(taint.what)})")
            case Kind.HUMAN:
                parts.append("a person")
            case Kind.CHECK:
                parts.append("a check against what was given")
            case Kind.FORM:
                parts.append("the form of the reply")
            case Kind.MODEL:
                parts.append(f"a model ({taint.what})" if taint.what else "a model")
            case Kind.UNKNOWN:
                parts.append(f"unknown: {taint.detail}")
            case _:
                continue
    return ", ".join(list(dict.fromkeys(parts))[:3])


def _short(path: str) -> str:
    plain = path.replace("()", "")
    return plain if len(plain) <= 40 else f"…{plain[-39:]}"
