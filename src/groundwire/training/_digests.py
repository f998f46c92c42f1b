"""Texts known by eight bytes each, so that millions of them fit into memory: the rows of an export, and its episodes.

Among a million texts, two that differ have one digest with a probability of 3 in 100 million.
"""

from __future__ import annotations

import hashlib
from array import array

BYTES = 8
FIRST_SLOTS = 1024
_EMPTY = 0


def short_digest(text: str) -> int:
    """Eight bytes of a text's BLAKE2b digest, never all zero."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=BYTES).digest()) or 1


class ShortDigests:
    """A set of digests, as an open-addressed table: 12 to 32 bytes each, where a `set` of ints takes 60 to 100."""

    def __init__(self) -> None:
        self._slots = self._empty(FIRST_SLOTS)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, digest: int) -> bool:
        return self._slots[self._slot(digest)] == digest

    def add(self, digest: int) -> bool:
        """Keeps a digest of `short_digest`; False where it was there already."""
        slot = self._slot(digest)
        if self._slots[slot] == digest:
            return False
        self._slots[slot] = digest
        self._count += 1
        if 3 * self._count > 2 * len(self._slots):
            self._grow()
        return True

    def _slot(self, digest: int) -> int:
        """Where it is, or would go: its bits are as good as random, so the next free one is near."""
        slots, last = self._slots, len(self._slots) - 1
        at = digest & last
        while slots[at] not in (_EMPTY, digest):
            at = (at + 1) & last
        return at

    def _grow(self) -> None:
        known, self._slots = self._slots, self._empty(2 * len(self._slots))
        for digest in known:
            if digest != _EMPTY:
                self._slots[self._slot(digest)] = digest

    @staticmethod
    def _empty(slots: int) -> array[int]:
        return array("Q", bytes(BYTES * slots))
