"""Passes a command's output on in frames, and its line to another box, where no descriptor leads out of ours."""

# contextlib is slow to import; see the package
# ruff: noqa: SIM105
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
        self._requests = self._line = -1
        self._unsent = b""

    def open_line(self, requests: int) -> int:
        """Makes a line to another box: what comes in from now on is its.

        Args:
            requests: where messages for us came from.

        Returns:
            The command's end.
        """
        import _socket  # here: few commands have a line

        ours, theirs = _socket.socketpair()
        self._requests, self._line = requests, ours.detach()
        os.set_blocking(self._line, False)
        self._poll.register(self._line, select.POLLIN)
        self._poll.register(requests, select.POLLIN)
        return theirs.detach()

    def pump(self, timeout_s: float) -> None:
        """Passes on what comes within `timeout_s`."""
        if not self._kinds and self._line < 0:
            time.sleep(timeout_s)
            return
        for reader, _ in self._poll.poll(timeout_s * 1000):
            if reader in (self._line, self._requests):
                self._pass_on(reader)
                continue
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

    def _pass_on(self, ready: int) -> None:
        """Moves what waits on the line, in either direction; no more is taken in than the command reads."""
        if ready == self._requests:
            self._unsent = wire.read_part(ready)
            self._poll.unregister(ready)
            if not self._unsent:
                self._shut()
                return
            self._poll.modify(self._line, select.POLLIN | select.POLLOUT)
        if self._unsent:
            try:
                self._unsent = self._unsent[os.write(self._line, self._unsent) :]
            except BlockingIOError:
                pass
            except OSError:  # nobody reads there any more
                self._unsent = b""
            if not self._unsent:
                self._poll.modify(self._line, select.POLLIN)
                self._poll.register(self._requests, select.POLLIN)
        try:
            said = os.read(self._line, CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        if said:
            wire.write_frame(self._report, wire.LINE, said)
        else:
            self._close_line()  # the other box is told when this one has ended

    def _shut(self) -> None:
        import _socket

        end = _socket.socket(fileno=self._line)
        try:
            end.shutdown(_socket.SHUT_WR)
        except OSError:  # nobody reads there any more
            pass
        end.detach()

    def _close_line(self) -> None:
        for fd in (self._line, self._requests):
            try:
                self._poll.unregister(fd)
            except KeyError:
                continue
        os.close(self._line)
        self._line = self._requests = -1
        self._unsent = b""

    def finish(self) -> tuple[int, int]:
        """Sends the tails, once all writers are gone.

        Returns:
            How many bytes of stdout and of stderr were dropped.
        """
        if self._line >= 0:
            self._close_line()
        give_up = time.monotonic() + LAST_S
        while self._kinds and time.monotonic() < give_up:
            self.pump(LAST_S)
        for kind, tail in self._tails.items():
            if tail.kept:
                wire.write_frame(self._report, kind, tail.kept)
        return self._tails[wire.STDOUT].cut, self._tails[wire.STDERR].cut
