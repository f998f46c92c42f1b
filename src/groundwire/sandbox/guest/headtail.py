"""Keeps a stream's first and last bytes, in memory that does not grow with it. Used on both sides."""

from __future__ import annotations

SLACK_BYTES = 256 * 1024


class HeadTail:
    """Keeps the first and the last bytes of a stream and counts what lay between.

    Args:
        limit: bytes kept at most.
        head: how many of them from the beginning; None: half.
    """

    def __init__(self, limit: int, head: int | None = None) -> None:
        self._head_room = limit // 2 if head is None else head
        self._tail_room = limit - self._head_room
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, chunk: bytes) -> None:
        """Takes the next bytes of the stream."""
        room = self._head_room - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        # trimmed now and then, since each time moves what stays
        if len(self._tail) > 2 * self._tail_room + SLACK_BYTES:
            self._trim()

    def _trim(self) -> None:
        surplus = len(self._tail) - self._tail_room
        if surplus > 0:
            del self._tail[:surplus]
            self._dropped += surplus

    @property
    def cut(self) -> int:
        """Bytes dropped between head and tail."""
        self._trim()
        return self._dropped

    @property
    def kept(self) -> bytes:
        """Head and tail together."""
        self._trim()
        return bytes(self._head + self._tail)
