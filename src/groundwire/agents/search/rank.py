"""The order of edits: blame of the line, prior of the operator, what memory learned, and how small the edit is."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from groundwire.agents.search.edits import Proposal
from groundwire.agents.search.priors import DEFAULT_PRIOR, PRIORS
from groundwire.contexts import EditCounts

__all__ = ["factors", "score", "tie_break"]

PSEUDO_PASSES = 1.0
"""Passes that an operator is credited with, at the average rate, before any evidence counts."""
LEAST_RATE = 0.002
LEAST_FACTOR, MOST_FACTOR = 0.25, 4.0
BYTES_OF_ONE_PERCENT = 4


def factors(statistics: EditCounts) -> Mapping[str, float]:
    """How much better or worse than the average each operator paid before, as a factor; absent: 1.

    The rate is smoothed towards the average of all operators (additive smoothing), so that one lucky edit in a young
    memory changes little.

    Args:
        statistics: operator → (used, passed).
    """
    used = sum(u for u, _ in statistics.values())
    passed = sum(p for _, p in statistics.values())
    average = max(passed / used if used else 0.0, LEAST_RATE)
    weight = PSEUDO_PASSES / average
    found: dict[str, float] = {}
    for name, (tried, paid) in statistics.items():
        rate = (paid + PSEUDO_PASSES) / (tried + weight)
        found[name] = min(MOST_FACTOR, max(LEAST_FACTOR, rate / average))
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
