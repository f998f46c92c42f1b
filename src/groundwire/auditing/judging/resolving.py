"""Follows a state key round a loop: which node wrote it last, and what that rests on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from groundwire.auditing.conditions import Test
from groundwire.auditing.nodes.facts import Facts
from groundwire.auditing.nodes.updates import Write
from groundwire.auditing.taints import OUTSIDE, Kind, Taint, Taints, join

__all__ = ["Round", "resolve", "resolve_test"]

FIXED = frozenset({Taint(Kind.FIXED)})
HUMAN_STATE = frozenset({Taint(Kind.HUMAN, what="the state a person leaves while the run pauses")})
MAX_DEPTH = 40
LONG = 15
ORDERINGS = frozenset({"<", "<=", ">", ">="})
# a model's number against a given limit is a check, unless the number is how good the model finds something
RATING = re.compile(
    r"(?i)scor|rating|\brate|rank|grade|mark|confiden|certain|quality|relevan|similar|probab|likel|sentiment|satisf|thresh|accept|approv"
    r"|critic|review|judge|evaluat|assess|reward|utility|severity|agree|complete|progress|point"
)


@dataclass(frozen=True)
class Round:
    """One way round.

    Args:
        nodes: in order.
        beside: for each place, nodes that always run just before it, in parallel with those on the way.
        facts: of each node.
        appends: keys to which updates are added.
        texts: keys that are annotated as text.
        paused: the run pauses for a person on the way.
    """

    nodes: Sequence[str]
    beside: Sequence[frozenset[str]]
    facts: Mapping[str, Facts]
    appends: frozenset[str]
    texts: frozenset[str]
    paused: bool = False


def resolve(taints: Taints, at: int, *, after: bool, around: Round, seen: frozenset[object] = frozenset()) -> Taints:
    """Sources without keys of the state: what those hold at this place on the way round.

    Args:
        taints: what is read.
        at: index of the node at which it is read.
        after: after that node has written, not before.
        around: the way round.
        seen: keys that are being followed.
    """
    found: set[Taint] = set()
    for taint in taints:
        match taint.kind:
            case Kind.KEY | Kind.LAST | Kind.LENGTH if taint.detail:
                mark = (taint.detail, taint.kind, at, after)
                if mark not in seen and len(seen) < MAX_DEPTH:
                    found |= _key(taint, at, after, around, seen | {mark})
            case Kind.COMPARE if taint.test is not None:
                mark = (id(taint.test), at, after)
                if mark not in seen and len(seen) < MAX_DEPTH:
                    found |= resolve_test(taint.test, at, after=after, around=around, seen=seen | {mark})
            case _:
                found.add(taint)
    return frozenset(found)


def resolve_test(test: Test, at: int, *, after: bool, around: Round, seen: frozenset[object] = frozenset()) -> Taints:
    """What the outcome of a test rests on; a reply compared with something given is a check."""
    left = resolve(test.left, at, after=after, around=around, seen=seen)
    right = resolve(test.right, at, after=after, around=around, seen=seen)
    compares = test.op in {"==", "in"} or (test.op in ORDERINGS and not RATING.search(test.text))
    if compares and not test.constant and (_is_check(left, right) or _is_check(right, left)):
        return frozenset({Taint(Kind.CHECK, what=test.text)})
    together = left | right
    if test.op == "%" and any(t.kind is Kind.MODEL for t in together):
        # a remainder is a property that nobody claims: check digits, parities
        return frozenset({Taint(Kind.CHECK, what=test.text)})
    if _is_length(test, together):
        return frozenset({Taint(Kind.FORM, what=f"a length: {test.text}")})
    return together


def _is_check(said: Taints, given: Taints) -> bool:
    """A model's reply on one side, only given things on the other."""
    reply = any(t.kind is Kind.MODEL for t in said) and not any(t.kind in {Kind.UNKNOWN, Kind.ASK} for t in said)
    return reply and bool(given) and all(t.kind in {Kind.FIXED, Kind.COUNTER} for t in given)


def _is_length(test: Test, taints: Taints) -> bool:
    """The length of a text against a number: a matter of form. Of a list of complaints it is the model's word."""
    lengths = {t.detail for t in taints if t.kind is Kind.LENGTH}
    if not lengths or not any(t.kind is Kind.MODEL for t in taints) or test.op in {"", "in"}:
        return False
    return "text" in lengths or (test.limit is not None and test.limit >= LONG)


def _key(taint: Taint, at: int, after: bool, around: Round, seen: frozenset[object]) -> Taints:
    name, found, written = taint.detail, set[Taint](), False
    whole = taint.kind is not Kind.LAST and name in around.appends
    for place in _backwards(at, after, len(around.nodes)):
        for node in (around.nodes[place], *sorted(around.beside[place])):
            write = around.facts[node].writes.get(name) if node in around.facts else None
            certain = write is not None and write.always
            if write is None and node in around.facts:
                write = around.facts[node].writes.get("*") if name != "*" else _any_write(around.facts[node])
            if write is None:
                continue
            written = True
            chosen = write.last if taint.kind is Kind.LAST else write.taints
            found |= resolve(chosen, place, after=False, around=around, seen=seen)
            if (certain or name == "*") and not whole and node == around.nodes[place] and not around.beside[place]:
                return _as_length(taint, frozenset(found), around)
    if not written:
        length = frozenset({Taint(Kind.LENGTH, "fixed")}) if taint.kind is Kind.LENGTH else frozenset[Taint]()
        return HUMAN_STATE if around.paused else FIXED | length
    return _as_length(taint, frozenset(found), around)


def _any_write(facts: Facts) -> Write | None:
    if not facts.writes:
        return None
    return Write(join(w.taints for w in facts.writes.values()), join(w.last for w in facts.writes.values()))


def _as_length(taint: Taint, found: Taints, around: Round) -> Taints:
    if taint.kind is not Kind.LENGTH:
        return found
    kinds = {t.kind for t in found}
    if Kind.SHRINK in kinds or kinds & OUTSIDE:
        return found | {Taint(Kind.LENGTH, "")}
    if taint.detail in around.appends or Kind.GROW in kinds:
        return frozenset({Taint(Kind.COUNTER)})
    if kinds <= {Kind.FIXED}:
        return frozenset({Taint(Kind.LENGTH, "fixed")}) | FIXED
    return found | {Taint(Kind.LENGTH, "text" if taint.detail in around.texts else "")}


def _backwards(at: int, after: bool, size: int) -> Iterator[int]:
    """Places from here back round, each once."""
    start = at if after else at - 1
    for step in range(size):
        yield (start - step) % size
