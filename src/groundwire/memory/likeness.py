"""When two texts say the same: near-verbatim, by their words alone.

A reflection that repeats another is linked to it and takes no second place in a window; one that repeats what its own
trial had been given is an echo, and no lesson at all, or memory would fill with copies of itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

__all__ = ["echoes", "fingerprint", "says_the_same"]

_WORD = re.compile(r"\w+")
WORDS_READ = 2000
SHINGLE = 3
"""Words that follow each other and are compared as one."""
SAME = 0.85
"""Share of shingles that two texts must have in common (Jaccard; Broder 1997)."""
ECHOED = 0.9
"""Share of a text's shingles that recalled texts may hold before it is an echo of them."""


def fingerprint(text: str) -> str:
    """Equal for texts that have the same words in the same order, whatever their case, spacing and punctuation."""
    return hashlib.sha256(" ".join(_words(text)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def says_the_same(text: str, other: str) -> bool:
    """True where the texts differ in a few words at most."""
    mine, theirs = _shingles(text), _shingles(other)
    return bool(mine) and len(mine & theirs) >= SAME * len(mine | theirs)


def echoes(text: str, recalled: Iterable[str]) -> int | None:
    """The index of the recalled text that `text` mostly repeats; None where it says something of its own."""
    mine = _shingles(text)
    if not mine:
        return None
    shared = [mine & _shingles(other) for other in recalled]
    if not shared or len(set[tuple[str, ...]]().union(*shared)) < ECHOED * len(mine):
        return None
    return max(range(len(shared)), key=lambda index: len(shared[index]))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())[:WORDS_READ]


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = _words(text)
    if len(words) < SHINGLE:
        return {tuple(words)} if words else set()
    return set(zip(*(words[start:] for start in range(SHINGLE)), strict=False))
