"""Monotone acceptance: the best verified candidate is kept, test by test; a worse one never replaces it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from groundwire.contexts import Judged
from groundwire.signals import Verdict

__all__ = ["Change", "compare", "most_promising"]


class Change(StrEnum):
    """What a candidate is, test by test, against the best one so far."""

    BETTER = "better"
    """Fixes at least one case and breaks none."""
    SAME = "same"
    WORSE = "worse"
    """Breaks at least one case and fixes none."""
    TRADE_OFF = "trade_off"
    """Fixes some and breaks some: recorded, never accepted."""
    UNKNOWN = "unknown"
    """One of the two has no verdict."""


def compare(new: Judged, best: Judged) -> Change:
    """Compares two judged candidates over the cases that both ran; a case that is missing counts as broken."""
    if Verdict.NONE in (new.signal.verdict, best.signal.verdict):
        return Change.UNKNOWN
    before, after = best.signal.evidence.passed(), new.signal.evidence.passed()
    fixes, breaks = bool(after - before), bool(before - after)
    passes = new.signal.verdict is Verdict.PASS and best.signal.verdict is Verdict.FAIL
    if breaks:
        return Change.TRADE_OFF if fixes else Change.WORSE
    return Change.BETTER if fixes or passes else Change.SAME


def most_promising(judged: Iterable[Judged]) -> Judged | None:
    """The one to go on with: a PASS, else the FAIL that passes most cases, ties to fewer bytes, then to the first.

    Returns:
        None where nothing has a verdict.
    """
    with_verdict = [j for j in judged if j.signal.verdict is not Verdict.NONE]
    return max(with_verdict, key=_rank, default=None)


def _rank(judged: Judged) -> tuple[bool, int, int]:
    size = sum(len(content or b"") for content in judged.candidate.changes.values())
    return judged.signal.verdict is Verdict.PASS, len(judged.signal.evidence.passed()), -size
