"""Monotone acceptance: the best candidate is kept, test by test; nothing that was verified is ever given up.

A candidate is known by its *vector*: which cases it passed, per yardstick (the command, or the tool that has none).
Cases that proved flaky are in no vector. Two candidates are compared over the yardsticks that judged both; a case that
is missing there counts as broken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import Judged
from groundwire.core._signals import NoVerdict, Origin, Signal, Verdict
from groundwire.graphs.run._gate import WEAK

Yardstick = tuple[str, ...]
Case = tuple[Yardstick, str]
"""A case's id, told apart by what judged it."""
Size = tuple[int, int]
"""Files and lines that a candidate changes."""

APART = frozenset({Origin.HIDDEN_TESTS, Origin.RULE})
"""Origins that never take part: hidden tests don't steer, and a rule is about the loop."""


class Change(StrEnum):
    """What a candidate is, test by test, against the best one so far."""

    BETTER = "better"
    """Fixes at least one case and breaks none."""
    SMALLER = "smaller"
    """The same cases with fewer changes: accepted."""
    SAME = "same"
    WORSE = "worse"
    """Breaks at least one case and fixes none."""
    TRADE_OFF = "trade_off"
    """Fixes some and breaks some: recorded, never accepted."""
    UNKNOWN = "unknown"
    """Nothing judged both, or there is no verdict."""

    @property
    def accepted(self) -> bool:
        """True where the candidate takes the best one's place."""
        return self in (Change.BETTER, Change.SMALLER)


@dataclass(frozen=True)
class TradeOff:
    """A candidate that fixes some cases and breaks others.

    Args:
        candidate: its digest.
        trial: where it was judged.
        against: digest of the best candidate then.
        fixes: cases that it passes and that one does not.
        breaks: cases that it fails or lacks and that one passes.
    """

    candidate: str
    trial: int
    against: str
    fixes: tuple[str, ...]
    breaks: tuple[str, ...]


def yardstick(signal: Signal) -> Yardstick:
    """What judged: signals of one yardstick can be compared case by case."""
    return signal.command or (signal.issuer,)


def change_size(candidate: Candidate, base: Tree) -> Size:
    """Files changed, and lines added and removed; a line that only moved counts for nothing."""
    lines = 0
    files = 0
    for path, content in candidate.changes.items():
        before = base.files.get(path)
        if content != before or path in candidate.modes:
            old, new = Counter((before or b"").splitlines()), Counter((content or b"").splitlines())
            lines += (new - old).total() + (old - new).total()
            files += 1
    return files, lines


def most_promising(judged: Iterable[Judged], base: Tree) -> Judged | None:
    """The one to go on with: a PASS, else the FAIL that passes most cases, ties to fewer changes, then to the first.

    Returns:
        None where nothing has a verdict.
    """

    def rank(item: Judged) -> tuple[bool, int, int, int]:
        files, lines = change_size(item.candidate, base)
        return item.signal.verdict is Verdict.PASS, len(item.signal.evidence.passed()), -files, -lines

    return max((j for j in judged if j.signal.verdict is not Verdict.NONE), key=rank, default=None)


class Ladder:
    """The best candidate so far, over an episode's signals in their order.

    Args:
        size: how much a candidate changes, by digest; ties go to the smaller.
    """

    def __init__(self, size: Callable[[str], Size] = lambda _digest: (0, 0)) -> None:
        self.best: Signal | None = None
        """The newest signal about the best candidate."""
        self._size = size
        self._trade_offs: dict[str, TradeOff] = {}
        self._looks: dict[str, dict[Yardstick, Signal]] = {}
        self._flaky: dict[Yardstick, frozenset[str]] = {}

    @property
    def trade_offs(self) -> tuple[TradeOff, ...]:
        """One for each candidate that was one when it was looked at last."""
        return tuple(self._trade_offs.values())

    def take(self, signal: Signal) -> Change:
        """Compares the signal's candidate with the best one, and keeps the better."""
        is_flaky = signal.reason is NoVerdict.FLAKY
        if signal.origin in APART or (signal.verdict is Verdict.NONE and not is_flaky):
            return Change.UNKNOWN
        measure = yardstick(signal)
        if signal.evidence.flaky:
            self._flaky[measure] = self._flaky.get(measure, frozenset()) | set(signal.evidence.flaky)
        self._looks.setdefault(signal.candidate_digest, {})[measure] = signal
        self._trade_offs.pop(signal.candidate_digest, None)
        best = self.best
        if best is not None and signal.candidate_digest == best.candidate_digest:
            if best.origin in WEAK or signal.origin not in WEAK:
                self.best = signal
            return Change.SAME
        change = Change.UNKNOWN if is_flaky else Change.BETTER if best is None else self._compare(signal, best)
        if change.accepted:
            self.best = signal
        return change

    def verified(self, digest: str) -> frozenset[Case]:
        """The cases that a candidate passed before origins that may verify, flaky ones left out."""
        looks = self._of(digest, weak=False)
        return frozenset((measure, name) for measure, look in looks.items() for name in self._passed(look))

    def lost(self, digest: str) -> frozenset[str]:
        """Cases that the best candidate passed and this one does not, where the same yardstick judged both."""
        best = self.best
        return frozenset() if best is None else self._apart(digest, best.candidate_digest, weak=False)[1]

    def look(self, digest: str) -> Signal | None:
        """The newest signal about a candidate, one that may verify before others."""
        looks = list(self._looks.get(digest, {}).values())
        strong = [look for look in looks if look.origin not in WEAK]
        return (strong or looks or [None])[-1]

    def _compare(self, new: Signal, best: Signal) -> Change:
        for weak in (False, True):
            fixes, breaks = self._apart(new.candidate_digest, best.candidate_digest, weak=weak)
            if breaks:
                return self._trade(new, best, fixes, breaks) if fixes else Change.WORSE
            ours, theirs = self._of(new.candidate_digest, weak), self._of(best.candidate_digest, weak)
            if theirs.keys() - ours.keys():
                return Change.UNKNOWN  # not judged yet by all that judged the best one
            if fixes or any(self._passed(ours[measure]) for measure in ours.keys() - theirs.keys()):
                return Change.BETTER
        if new.verdict is not best.verdict:
            return Change.BETTER if new.verdict is Verdict.PASS else Change.SAME
        smaller = self._size(new.candidate_digest) < self._size(best.candidate_digest)
        return Change.SMALLER if smaller else Change.SAME

    def _apart(self, one: str, other: str, *, weak: bool) -> tuple[frozenset[str], frozenset[str]]:
        """What only `one` passes and what only `other` does, over the yardsticks that judged both."""
        ours, theirs = self._of(one, weak), self._of(other, weak)
        fixes: set[str] = set()
        breaks: set[str] = set()
        for measure in ours.keys() & theirs.keys():
            after, before = self._passed(ours[measure]), self._passed(theirs[measure])
            fixes |= after - before
            breaks |= before - after
        return frozenset(fixes), frozenset(breaks)

    def _of(self, digest: str, weak: bool) -> dict[Yardstick, Signal]:
        looks = self._looks.get(digest, {})
        return {measure: look for measure, look in looks.items() if (look.origin in WEAK) is weak}

    def _passed(self, signal: Signal) -> frozenset[str]:
        return signal.evidence.passed() - self._flaky.get(yardstick(signal), frozenset())

    def _trade(self, new: Signal, best: Signal, fixes: frozenset[str], breaks: frozenset[str]) -> Change:
        names = [tuple(sorted(cases)) for cases in (fixes, breaks)]
        trade_off = TradeOff(new.candidate_digest, new.trial, best.candidate_digest, *names)
        self._trade_offs[new.candidate_digest] = trade_off
        return Change.TRADE_OFF
