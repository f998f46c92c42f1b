"""What a signal's origin is worth: what may verify, what may only ask for another try, and what must be named."""

from __future__ import annotations

from collections.abc import Collection

from groundwire.signals import Origin

__all__ = ["NAMED_ONLY", "WEAK", "may_verify"]

NAMED_ONLY = frozenset({Origin.OTHER_MODEL, Origin.HUMAN})
"""Opinions: they count only where the graph names them (`FeedbackGraph(trust=…)`), and every report marks them."""
WEAK = frozenset({Origin.MODEL_TESTS}) | NAMED_ONLY
"""They order candidates only where nothing stronger tells these apart. On MBPP 16 % of what passed tests that a model
wrote was wrong (Reflexion, arXiv 2303.11366)."""


def may_verify(origin: Origin, trusted: Collection[Origin] = ()) -> bool:
    """True if a PASS of this origin may declare success.

    Args:
        origin: the signal's.
        trusted: opinions that the graph names.
    """
    if origin in NAMED_ONLY:
        return origin in trusted
    return origin not in (Origin.MODEL_TESTS, Origin.RULE)
