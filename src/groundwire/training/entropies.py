"""Entropies of a model's tokens out of the log probabilities that a ledger keeps."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["token_entropies", "token_entropy"]


def token_entropy(top_logprobs: Sequence[float]) -> float:
    """Entropy of one token's distribution, in nats, from its likeliest tokens.

    What these leave over counts as one more outcome, so that the value is exact where nothing is left over and a lower
    bound of the true entropy where something is.

    Args:
        top_logprobs: natural log probabilities of different tokens.
    """
    probabilities = [math.exp(value) for value in top_logprobs]
    # rounded log probabilities may add up to a little more than one
    probabilities.append(max(0.0, 1.0 - math.fsum(probabilities)))
    return math.fsum(-p * math.log(p) for p in probabilities if p > 0.0)


def token_entropies(top_logprobs: Sequence[Sequence[float]] | None) -> tuple[float, ...] | None:
    """The same for each token of an answer; None where none are stored, or a token has none."""
    if not top_logprobs or not all(top_logprobs):
        return None
    return tuple(map(token_entropy, top_logprobs))
