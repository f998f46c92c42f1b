"""Passes a command's output on in frames, where no descriptor reaches from the command to its reader."""

from __future__ import annotations

import os
import select
import time

from groundwire.sandbox.guest import headtail, wire

CHUNK_BYTES = 64 * 1024
LAST_S = 1.0


class Relay:
    """Sends the head of each stream as it comes, and the tail at the end.

    Args:
        report: where frames go.
        limit: bytes sent of each stream at most.
    """

    def __init__(self, report: int, limit: int) -> None:
        self._report = report
        self._poll = select.poll()
        self._kinds: dict[int, bytes] = {}
        self._heads: dict[bytes, int] = {}
        self._tails: dict[bytes, headtail.HeadTail] = {}
        self.writers: list[int] = []
        for kind in (wire.STDOUT, wire.STDERR):
            reader, writer = os.pipe()
            self.writers.append(writer)
            self._kinds[reader] = kind
            self._heads[kind] = limit // 2
            self._tails[kind] = headtail.HeadTail(limit - limit // 2, head=0)
            self._poll.register(reader, select.POLLIN)

    def pump(self, timeout_s: float) -> None:
        """Passes on what comes within `timeout_s`."""
        if not self._kinds:
            time.sleep(timeout_s)
            return
        for reader, _ in self._poll.poll(timeout_s * 1000):
            kind = self._kinds[reader]
            chunk = os.read(reader, CHUNK_BYTES)
            if not chunk:
                self._poll.unregister(reader)
                os.close(reader)
                del self._kinds[reader]
                continue
            head = chunk[: self._heads[kind]]
            if head:
                self._heads[kind] -= len(head)
                wire.write_frame(self._report, kind, head)
            self._tails[kind].add(chunk[len(head) :])

    def finish(self) -> tuple[int, int]:
        """Sends the tails, once all writers are gone.

        Returns:
            How many bytes of stdout and of stderr were dropped.
        """
        give_up = time.monotonic() + LAST_S
        while self._kinds and time.monotonic() < give_up:
            self.pump(LAST_S)
        for kind, tail in self._tails.items():
            if tail.kept:
                wire.write_frame(self._report, kind, tail.kept)
        return self._tails[wire.STDOUT].cut, self._tails[wire.STDERR].cut
