"""The order of edits: blame of the line, prior of the operator, what memory learned, and how small the edit is."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from groundwire.agents.search.edits import Proposal
from groundwire.agents.search.priors import DEFAULT_PRIOR, PRIORS
from groundwire.contexts import EditCounts, EditStatistics

__all__ = ["factors", "score", "tie_break"]

CREDIT = 12.0
"""Passes at its parent's rate that each circle is credited with, so that a young memory changes little."""
LEAST_FACTOR, MOST_FACTOR = 0.25, 4.0
BYTES_OF_ONE_PERCENT = 4


def factors(statistics: EditStatistics) -> Mapping[str, float]:
    """How much better or worse than the priors say each operator paid before, as a factor; absent: 1.

    Candidates are tried by falling score, so each of them should pass equally often, whatever its operator; where an
    operator passed more often than that, its prior was too small. Rates are shrunk from circle to circle, in the manner
    of empirical Bayes (Efron and Morris, JASA 70, 1975): from everything that was seen towards 1, from the family
    towards that, from failures alike towards the family. So the narrow circle counts the more, the more it has seen.

    Args:
        statistics: what memory knows of the three circles; the wider ones contain the narrower ones.
    """
    family = _without(statistics.family, statistics.alike)
    overall = _without(_without(statistics.overall, statistics.alike), family)
    found: Mapping[str, float] = {}
    for circle in (overall, family, statistics.alike):
        found = _shrunk(circle, found)
    return {name: min(MOST_FACTOR, max(LEAST_FACTOR, factor)) for name, factor in found.items()}


def _without(circle: EditCounts, inner: EditCounts) -> EditCounts:
    """A circle without what a narrower one has counted already."""
    less = {name: inner.get(name, (0, 0)) for name in circle}
    return {n: (max(0, used - less[n][0]), max(0, passed - less[n][1])) for n, (used, passed) in circle.items()}


def _shrunk(circle: EditCounts, wider: Mapping[str, float]) -> Mapping[str, float]:
    used, passed = (sum(counts[place] for counts in circle.values()) for place in (0, 1))
    if not used or not passed:
        return wider
    found = dict(wider)
    for name, (tried, paid) in circle.items():
        expected = tried * passed / used
        found[name] = (paid + CREDIT * wider.get(name, 1.0)) / (expected + CREDIT)
    return found


def score(proposal: Proposal, blame: float, learned: Mapping[str, float]) -> float:
    """The rank of a proposal; larger is tried earlier.

    Args:
        proposal: what is replaced.
        blame: of its line, 0 to 1.
        learned: see `factors`.
    """
    prior = PRIORS.get(proposal.name, DEFAULT_PRIOR) * learned.get(proposal.name, 1.0)
    size = sum(len(s.text) for s in proposal.splices)
    return blame * prior * proposal.weight * 0.99 ** (size / BYTES_OF_ONE_PERCENT)


def tie_break(proposal: Proposal, path: str, seed: int) -> int:
    """Orders edits of equal score: by a hash that depends on the seed only; with seed 0, by their place in the text."""
    if seed == 0:
        return proposal.splices[0].start
    text = f"{seed}:{path}:{proposal.name}:" + ";".join(f"{s.start},{s.end},{s.text}" for s in proposal.splices)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
