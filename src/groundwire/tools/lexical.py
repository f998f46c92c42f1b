"""Words of a text as they are compared: lower case, without the commonest ones, endings taken off."""

from __future__ import annotations

import re

__all__ = ["normalised", "terms"]

COMMON = (
    "a an and are as at by did do does for from has have he her his how in into is it its of on or she that the their"
    " them there they this to was were what when where which who whom whose why will with"
)
STOP = frozenset(COMMON.split())
ENDINGS = ("ing", "ed", "es", "s")
SHORTEST = 4
"""Letters that must be left when an ending is taken off."""


def terms(text: str) -> frozenset[str]:
    """The words that carry meaning."""
    return frozenset(_stem(word) for word in normalised(text).split() if word not in STOP)


def normalised(text: str) -> str:
    """Lower case, letters and digits only, single spaces."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def _stem(word: str) -> str:
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST:
            return word[: -len(ending)]
    return word
