"""What opens an edge: the strongest of the tests on each way, the weakest of the ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

from groundwire_audit.reading._conditions import (
    NOTHING,
    OUTSIDE,
    TOO_LONG,
    Literal,
    Taint,
    TaintKind,
    Taints,
    Test,
    join,
    reason,
)
from groundwire_audit.reading._frames import MATCHES
from groundwire_audit.reading._reader import Facts, Write

# Follows a state key round a loop: which node wrote it last, and what that rests on.

FIXED = frozenset({Taint(TaintKind.FIXED)})
HUMAN_STATE = frozenset({Taint(TaintKind.HUMAN, what="the state a person leaves while the run pauses")})
LONG = 15
# a model's reply is held against something given; an order (`<`) is none of these: a model's own number against a limit
CHECKS = frozenset({"==", "in", "distance"})


@dataclass(frozen=True)
class WayRound:
    """One way round.

    Args:
        nodes: in order.
        beside: for each place, nodes that always run just before it, in parallel with those on the way.
        facts: of each node.
        appends: keys to which updates are added.
        texts: keys that are annotated as text.
        paused: the run pauses for a person on the way.
        asks: a person is asked on the way; what one said before the loop began is fixed.
    """

    nodes: Sequence[str]
    beside: Sequence[frozenset[str]]
    facts: Mapping[str, Facts]
    appends: frozenset[str]
    texts: frozenset[str]
    paused: bool = False
    asks: bool = True

    @cached_property
    def sources(self) -> Sources:
        """What things rest on here."""
        return Sources(self)

    @cached_property
    def smooth(self) -> Sources:
        """The same where nothing raises."""
        return Sources(self, smoothly=True)


class Sources:
    """What keys of the state and tests rest on at each place of a way round; each is worked out once.

    Keys are often written from themselves. Where such a circle is met, what was found in the pass before stands for it,
    and passes are made until nothing changes.

    Args:
        around: the way round.
        smoothly: as it goes where nothing raises.
    """

    def __init__(self, around: WayRound, *, smoothly: bool = False) -> None:
        self._around = around
        self._smoothly = smoothly
        self._found: dict[object, Taints] = {}
        self._before: dict[object, Taints] = {}
        self._open: set[object] = set()
        self._circular = False

    def of_test(self, test: Test, at: int, *, after: bool) -> Taints:
        """What the outcome of a test rests on; a reply held against something given is a check.

        Args:
            test: the test.
            at: index of the node at which it is made.
            after: after that node has written, not before.
        """
        found = NOTHING
        for _ in range(MAX_PASSES):
            self._circular = False
            found = self._test(test, at, after)
            if not self._circular or self._found == self._before:
                break
            self._before, self._found = self._found, {}
        return found

    def _all(self, taints: Taints, at: int, after: bool) -> Taints:
        """Sources without keys of the state: what those hold at this place."""
        plain: set[Taint] = set()
        inner: list[Taints] = []
        for taint in taints:
            match taint.kind:
                case TaintKind.KEY | TaintKind.LAST | TaintKind.LENGTH if taint.detail:
                    mark = (taint.kind, taint.detail, at, after)
                    inner.append(self._once(mark, lambda t=taint: _key(t, at, after, self._around, self._all)))
                case TaintKind.COMPARE if taint.test is not None:
                    if taint.test.op != "raises" or not self._smoothly:
                        inner.append(self._test(taint.test, at, after))
                case TaintKind.HUMAN if not (self._around.asks or self._around.paused):
                    inner.append(FIXED)
                case _:
                    plain.add(taint)
        return frozenset(plain).union(*inner)

    def _test(self, test: Test, at: int, after: bool) -> Taints:
        return self._once((id(test), at, after), lambda: self._outcome(test, at, after))

    def _once(self, mark: object, work: Callable[[], Taints]) -> Taints:
        known = self._found.get(mark)
        if known is not None:
            return known
        if mark in self._open:
            self._circular = True
            return self._before.get(mark, NOTHING)
        self._open.add(mark)
        try:
            found = self._found[mark] = work()
        finally:
            self._open.discard(mark)
        return found

    def _outcome(self, test: Test, at: int, after: bool) -> Taints:
        left, right = self._all(test.left, at, after), self._all(test.right, at, after)
        if test.op in CHECKS and not test.constant and (_is_check(left, right) or _is_check(right, left)):
            return frozenset({Taint(TaintKind.CHECK, what=test.text)})
        together = left | right
        if test.op == "%" and any(t.kind is TaintKind.MODEL for t in together):
            # a remainder is a property that nobody claims: check digits, parities
            return frozenset({Taint(TaintKind.CHECK, what=test.text)})
        if _is_length(test, together):
            return frozenset({Taint(TaintKind.FORM, what=f"a length: {test.text}")})
        return together


MAX_PASSES = 6


def _is_check(said: Taints, given: Taints) -> bool:
    """A model's reply on one side, only given things on the other."""
    reply = any(t.kind is TaintKind.MODEL for t in said) and not any(
        t.kind in {TaintKind.UNKNOWN, TaintKind.ASK} for t in said
    )
    kinds = {t.kind for t in given}
    return reply and TaintKind.FIXED in kinds and kinds <= {TaintKind.FIXED, TaintKind.COUNTER}


def _is_length(test: Test, taints: Taints) -> bool:
    """The length of a text against a number: a matter of form. Of a list of complaints it is the model's word."""
    lengths = {t.detail for t in taints if t.kind is TaintKind.LENGTH}
    if not lengths or not any(t.kind is TaintKind.MODEL for t in taints) or test.op in {"", "in"}:
        return False
    return "text" in lengths or (test.limit is not None and test.limit >= LONG)


def _key(
    taint: Taint, at: int, after: bool, around: WayRound, resolve: Callable[[Taints, int, bool], Taints]
) -> Taints:
    """What a key of the state rests on: what the nodes before wrote to it, the nearest first."""
    name, found, written = taint.detail, set[Taint](), False
    whole = taint.kind is not TaintKind.LAST and name in around.appends
    for place in _backwards(at, after, len(around.nodes)):
        for node in (around.nodes[place], *sorted(around.beside[place])):
            write = written_under(around.facts[node].writes, name) if node in around.facts else None
            certain = write is not None and write.always
            if write is None and node in around.facts:
                write = around.facts[node].writes.get("*") if name != "*" else _any_write(around.facts[node])
            if write is None:
                continue
            written = True
            chosen = write.last if taint.kind is TaintKind.LAST else write.taints
            found |= resolve(chosen, place, False)
            if (certain or name == "*") and not whole and node == around.nodes[place] and not around.beside[place]:
                return _as_length(taint, frozenset(found), around)
    if not written:
        length = frozenset({Taint(TaintKind.LENGTH, "fixed")}) if taint.kind is TaintKind.LENGTH else frozenset[Taint]()
        return HUMAN_STATE if around.paused else FIXED | length
    return _as_length(taint, frozenset(found), around)


def written_under(writes: Mapping[str, Write], name: str) -> Write | None:
    """What is written under a key of the state, or under one inside of it: `plan.steps`."""
    path, _, inner = name.partition(".")
    found = writes.get(path)
    while found is not None and inner:
        part, _, inner = inner.partition(".")
        found, path = found.part(path, part), f"{path}.{part}"
    return found


def _any_write(facts: Facts) -> Write | None:
    if not facts.writes:
        return None
    return Write(join(w.taints for w in facts.writes.values()), join(w.last for w in facts.writes.values()))


def _as_length(taint: Taint, found: Taints, around: WayRound) -> Taints:
    if taint.kind is not TaintKind.LENGTH:
        return found
    kinds = {t.kind for t in found}
    if TaintKind.SHRINK in kinds or kinds & OUTSIDE:
        return found | {Taint(TaintKind.LENGTH, "")}
    if taint.detail in around.appends or TaintKind.GROW in kinds:
        return frozenset({Taint(TaintKind.COUNTER)})
    if kinds <= {TaintKind.FIXED}:
        return frozenset({Taint(TaintKind.LENGTH, "fixed")}) | FIXED
    return found | {Taint(TaintKind.LENGTH, "text" if taint.detail in around.texts else "")}


def _backwards(at: int, after: bool, size: int) -> Iterator[int]:
    """Places from here back round, each once."""
    start = at if after else at - 1
    for step in range(size):
        yield (start - step) % size


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


FORM_ONLY = "form only"
SAID_BY_MODEL = frozenset({Basis.ASIDE, Basis.MODEL})


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
        rests_on_person: all that is outside in it is a person's reply, and it may hold though nobody was asked.
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
    said: bool = False
    """Of UNKNOWN: a model's word is in it too, so that whatever the rest is, the fact is not from outside alone."""

    @property
    def words(self) -> str:
        """The test and its source, for people."""
        return f"{self.text} ← {self.source}" if self.source else self.text


def weakest(ways: list[frozenset[Literal]], at: int, *, before: list[bool], around: WayRound) -> Opening:
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
        chosen.said,
    )


def _is_persons_word(test: Test, around: WayRound, *, holds: bool) -> bool:
    """True if a person must have said something: the key that the test is about is None or empty otherwise."""
    asks_for_something = holds if not test.op else not holds and test.op == "is"  # `x`, `x is not None`
    if not asks_for_something or test.right or len(test.left) != 1:
        return False
    (taint,) = test.left
    writes = [f.writes[taint.detail] for n in around.nodes if (f := around.facts.get(n)) and taint.detail in f.writes]
    return taint.kind is TaintKind.KEY and bool(writes) and all(w.persons_or_nothing for w in writes)


def _asks_nothing(test: Test, *, holds: bool) -> bool:
    """The model asks for no tool: `not reply.tool_calls`."""
    plain = not test.op and not test.constant and not any(t.kind is TaintKind.COMPARE for t in test.left)
    return plain and not holds and any(t.kind is TaintKind.ASK for t in test.left)


def _found(test: Test, opening: Opening, *, holds: bool) -> Opening:
    """A round that begins because a pattern is in the reply: the model wrote it. That it is missing is its form."""
    if holds and is_pattern(test) and opening.kind == FORM_ONLY:
        return Opening(Basis.MODEL, text=test.text, source="a model", counted=opening.counted)
    return opening


def is_pattern(test: Test) -> bool:
    """`if match:` of a pattern that was looked for in a reply."""
    return not test.op and bool(test.left) and all(_is_match(t) for t in test.left)


def _is_match(taint: Taint) -> bool:
    return taint.kind is TaintKind.FORM and taint.what.endswith(MATCHES)


def _of_way(literals: frozenset[Literal], at: int, *, after: bool, around: WayRound) -> Opening:
    found = [
        replace(opening, rests_on_person=False) if _is_persons_word(test, around, holds=holds) else opening
        for test, holds in sorted(literals, key=lambda x: (x[0].text, x[1]))
        if holds or test.op != "raises"  # that nothing went wrong is no reason to go round
        for opening in (_found(test, of_literal(test, at, after=after, around=around), holds=holds),)
    ]
    if not found:
        return Opening(Basis.FREE)
    if any(o.basis in SAID_BY_MODEL for o in found):
        # a reply of the right form whose content decides: the content does
        found = [o for o in found if o.kind != FORM_ONLY] or found
    unasked = any(_asks_nothing(test, holds=holds) for test, holds in literals)
    strong = max(found, key=lambda o: (o.basis, -ORDER.index(o.kind) if o.kind in ORDER else -99))
    if unasked and strong.basis is Basis.ASK:
        strong = replace(strong, basis=Basis.ASIDE)
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
        strong.said,
    )


def of_literal(test: Test, at: int, *, after: bool, around: WayRound) -> Opening:
    """What one test rests on, at this place of a way round."""
    taints = _resolved(test, at, after=after, around=around)
    if reason(taints) == TOO_LONG and any(t.kind is TaintKind.MODEL for t in taints):
        # how its parts hang together is lost, and that a model's word is among them is enough to say who has a say
        taints = frozenset(t for t in taints if t.detail != TOO_LONG)
    if _runs_along(test):
        return Opening(Basis.WORKLIST, text=test.text, source="items that are left")
    taints -= _hidden_limit(test)
    kinds = {t.kind for t in taints}
    outside = kinds & OUTSIDE
    source = _source(taints)
    refilled = _refilled(test, around) and TaintKind.MODEL in kinds
    shrinks = TaintKind.SHRINK in kinds
    if TaintKind.UNKNOWN in kinds:
        said = TaintKind.MODEL in kinds
        return Opening(Basis.UNKNOWN, text=test.text, source=source, why=reason(taints), said=said)
    if TaintKind.ASK in kinds and not _counts_along(test):
        return Opening(Basis.ASK, text=test.text, source=source)
    if outside - {TaintKind.FORM} and TaintKind.MODEL in kinds:
        return Opening(Basis.MIXED, _kind(taints), test.text, source)
    if outside and TaintKind.MODEL not in kinds:
        return Opening(Basis.OUTSIDE, _kind(taints), test.text, source, rests_on_person=outside == {TaintKind.HUMAN})
    if refilled or (shrinks and TaintKind.MODEL in kinds):
        return Opening(Basis.MIXED, "refilled list", test.text, source, refilled=True)
    if shrinks or (
        TaintKind.COUNTER in kinds and any(t.kind is TaintKind.LENGTH and t.detail == "fixed" for t in taints)
    ):
        return Opening(Basis.WORKLIST, text=test.text, source="items that are left")
    if TaintKind.MODEL in kinds:
        return Opening(Basis.MODEL, text=test.text, source=source)
    if kinds & {TaintKind.COUNTER, TaintKind.CHANCE}:
        return Opening(Basis.COUNTER, text=test.text, source="a counter", limit=test.limit)
    return Opening(Basis.FREE, text=test.text, source="fixed before the loop" if kinds else "")


def _hidden_limit(test: Test) -> Taints:
    """A number that is handed in, and that a count is held against: whatever it is, that is a count."""
    for count, limit in ((test.left, test.right), (test.right, test.left)):
        hidden = frozenset(t for t in limit if t.kind is TaintKind.UNKNOWN and t.detail.startswith("argument "))
        if hidden == limit and test.op in ORDERS and any(t.kind is TaintKind.COUNTER for t in count):
            return hidden
    return NOTHING


ORDERS = frozenset({"<", "<=", ">", ">=", "=="})


def _counts_along(test: Test) -> bool:
    """A counter that runs beside tools which a model asks for, and does not say whether it did."""
    direct = {t.kind for t in test.taints}
    return TaintKind.COUNTER in direct and TaintKind.ASK not in direct


def _runs_along(test: Test) -> bool:
    """An index that is counted up to the length of a list that nothing adds to."""
    left, right = {t.kind for t in test.left}, {t.kind for t in test.right}
    counted = TaintKind.COUNTER in left and left <= {TaintKind.COUNTER, TaintKind.FIXED}
    measured = TaintKind.LENGTH in right and not right & {TaintKind.GROW, TaintKind.KEY, TaintKind.LAST}
    named = any(t.kind is TaintKind.LENGTH and t.detail for t in test.right)
    return test.op in {"<", "<="} and counted and measured and not named


def _resolved(test: Test, at: int, *, after: bool, around: WayRound) -> Taints:
    """What a test rests on. Where a model's word alone can bring it about, exceptions on the way there do not count."""
    plain = around.smooth.of_test(test, at, after=after)
    if any(t.kind is TaintKind.MODEL for t in plain):
        return plain
    return around.sources.of_test(test, at, after=after)


def _refilled(test: Test, around: WayRound) -> bool:
    """A node on the way takes items off the list that is tested."""
    names = {t.detail for t in test.taints if t.kind in {TaintKind.KEY, TaintKind.LENGTH}}
    return any(
        write is not None and any(t.kind is TaintKind.SHRINK for t in write.taints)
        for name in names
        for write in (written_under(around.facts[n].writes, name) for n in around.nodes if n in around.facts)
    )


def _kind(taints: Taints) -> str:
    found = {_word(t) for t in taints if t.kind in OUTSIDE}
    return next((k for k in ORDER if k in found), "")


def _word(taint: Taint) -> str:
    match taint.kind:
        case TaintKind.HUMAN:
            return "human"
        case TaintKind.CHECK:
            return "check"
        case TaintKind.FORM:
            return FORM_ONLY
        case _:
            return KINDS.get(taint.detail, "tool results")


def _source(taints: Taints) -> str:
    parts: list[str] = []
    for taint in sorted(taints, key=lambda t: (t.kind, t.detail, t.what)):
        match taint.kind:
            case TaintKind.WORLD:
                parts.append(f"{KINDS.get(taint.detail, 'outside')} ({_short(taint.what)})")
            case TaintKind.HUMAN:
                parts.append("a person")
            case TaintKind.CHECK:
                parts.append("a check against what was given")
            case TaintKind.FORM:
                parts.append("the form of the reply")
            case TaintKind.MODEL:
                parts.append(f"a model ({taint.what})" if taint.what else "a model")
            case TaintKind.UNKNOWN:
                parts.append(f"unknown: {taint.detail}")
            case _:
                continue
    return ", ".join(list(dict.fromkeys(parts))[:3])


def _short(path: str) -> str:
    plain = path.replace("()", "")
    return plain if len(plain) <= 40 else f"…{plain[-39:]}"
