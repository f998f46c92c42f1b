"""Monotone acceptance: the best candidate is kept, test by test; nothing that was verified is ever given up.

A candidate is known by its *vector*: which cases it passed, for each judge (a command, or a tool that has none). Cases
that proved flaky are in no vector. Two candidates are compared over what judged both; a case that is missing there
counts as broken.
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

JudgedBy = tuple[str, ...]
Case = tuple[JudgedBy, str]
"""What judged a case, and the case's id."""
ChangeSize = tuple[int, int]
"""Files and lines that a candidate changes."""

NOT_COMPARED = frozenset({Origin.HIDDEN_TESTS, Origin.RULE})
"""Origins that never take part: hidden tests don't steer, and a rule is about the loop."""


class ComparedToBest(StrEnum):
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
        return self in (ComparedToBest.BETTER, ComparedToBest.SMALLER)


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


def judged_by(signal: Signal) -> JudgedBy:
    """What judged: signals by the same judge can be compared case by case."""
    return signal.command or (signal.issuer,)


def change_size(candidate: Candidate, base: Tree) -> ChangeSize:
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

    said = [j for j in judged if j.signal.verdict is not Verdict.NONE]
    return said[0] if len(said) == 1 else max(said, key=rank, default=None)


class Ladder:
    """The best candidate so far, over an episode's signals in their order.

    Args:
        size: how much a candidate changes, by digest; ties go to the smaller.
    """

    def __init__(self, size: Callable[[str], ChangeSize] = lambda _digest: (0, 0)) -> None:
        self.best: Signal | None = None
        """The newest signal about the best candidate."""
        self._size = size
        self._trade_offs: dict[str, TradeOff] = {}
        self._looks: dict[str, dict[JudgedBy, Signal]] = {}
        self._flaky: dict[JudgedBy, frozenset[str]] = {}

    @property
    def trade_offs(self) -> tuple[TradeOff, ...]:
        """One for each candidate that was one when it was looked at last."""
        return tuple(self._trade_offs.values())

    def take(self, signal: Signal) -> ComparedToBest:
        """Compares the signal's candidate with the best one, and keeps the better."""
        is_flaky = signal.reason is NoVerdict.FLAKY
        if signal.origin in NOT_COMPARED or (signal.verdict is Verdict.NONE and not is_flaky):
            return ComparedToBest.UNKNOWN
        measure = judged_by(signal)
        if signal.evidence.flaky:
            self._flaky[measure] = self._flaky.get(measure, frozenset()) | set(signal.evidence.flaky)
        self._looks.setdefault(signal.candidate_digest, {})[measure] = signal
        self._trade_offs.pop(signal.candidate_digest, None)
        best = self.best
        if best is not None and signal.candidate_digest == best.candidate_digest:
            if best.origin in WEAK or signal.origin not in WEAK:
                self.best = signal
            return ComparedToBest.SAME
        change = (
            ComparedToBest.UNKNOWN
            if is_flaky
            else ComparedToBest.BETTER
            if best is None
            else self._compare(signal, best)
        )
        if change.accepted:
            self.best = signal
        return change

    def verified(self, digest: str) -> frozenset[Case]:
        """The cases that a candidate passed before origins that may verify, flaky ones left out."""
        looks = self._of(digest, weak=False)
        return frozenset((measure, name) for measure, look in looks.items() for name in self._passed(look))

    def lost(self, digest: str) -> frozenset[str]:
        """Cases that the best candidate passed and this one does not, where the same judge judged both."""
        best = self.best
        return frozenset() if best is None else self._differences(digest, best.candidate_digest, weak=False)[1]

    def look(self, digest: str) -> Signal | None:
        """The newest signal about a candidate, one that may verify before others."""
        looks = list(self._looks.get(digest, {}).values())
        strong = [look for look in looks if look.origin not in WEAK]
        return (strong or looks or [None])[-1]

    def _compare(self, new: Signal, best: Signal) -> ComparedToBest:
        for weak in (False, True):
            fixes, breaks = self._differences(new.candidate_digest, best.candidate_digest, weak=weak)
            if breaks:
                return self._trade(new, best, fixes, breaks) if fixes else ComparedToBest.WORSE
            ours, theirs = self._of(new.candidate_digest, weak), self._of(best.candidate_digest, weak)
            if theirs.keys() - ours.keys():
                return ComparedToBest.UNKNOWN  # not judged yet by all that judged the best one
            if fixes or any(self._passed(ours[measure]) for measure in ours.keys() - theirs.keys()):
                return ComparedToBest.BETTER
        if new.verdict is not best.verdict:
            return ComparedToBest.BETTER if new.verdict is Verdict.PASS else ComparedToBest.SAME
        smaller = self._size(new.candidate_digest) < self._size(best.candidate_digest)
        return ComparedToBest.SMALLER if smaller else ComparedToBest.SAME

    def _differences(self, one: str, other: str, *, weak: bool) -> tuple[frozenset[str], frozenset[str]]:
        """What only `one` passes and what only `other` does, over what judged both."""
        ours, theirs = self._of(one, weak), self._of(other, weak)
        fixes: set[str] = set()
        breaks: set[str] = set()
        for measure in ours.keys() & theirs.keys():
            after, before = self._passed(ours[measure]), self._passed(theirs[measure])
            fixes |= after - before
            breaks |= before - after
        return frozenset(fixes), frozenset(breaks)

    def _of(self, digest: str, weak: bool) -> dict[JudgedBy, Signal]:
        looks = self._looks.get(digest, {})
        return {measure: look for measure, look in looks.items() if (look.origin in WEAK) is weak}

    def _passed(self, signal: Signal) -> frozenset[str]:
        return signal.evidence.passed() - self._flaky.get(judged_by(signal), frozenset())

    def _trade(self, new: Signal, best: Signal, fixes: frozenset[str], breaks: frozenset[str]) -> ComparedToBest:
        names = [tuple(sorted(cases)) for cases in (fixes, breaks)]
        trade_off = TradeOff(new.candidate_digest, new.trial, best.candidate_digest, *names)
        self._trade_offs[new.candidate_digest] = trade_off
        return ComparedToBest.TRADE_OFF
