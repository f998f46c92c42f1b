"""Messages between the two processes: a length and a body, over one pair of descriptors made by whoever starts them.

All that is known here is how bytes travel. What they mean is the business of `crossing_codec` and of the two ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

MAX_BYTES = 64 << 20


class Wire:
    """One end.

    Args:
        source: descriptor to read from.
        sink: descriptor to write to; the same one for a socket.
    """

    def __init__(self, source: int, sink: int) -> None:
        # references of our own: tests like to fake `os`
        self._read, self._write, self._close = os.read, os.write, os.close
        self._source, self._sink = source, sink

    def receive(self) -> bytes | None:
        """The next body; None at the end.

        Raises:
            ValueError: it says that it is too long.
            OSError: the other end is gone.
        """
        head = self._exactly(4)
        if head is None:
            return None
        size = int.from_bytes(head, "big")
        if size > MAX_BYTES:
            raise ValueError(f"a message of {size} bytes")
        return self._exactly(size)

    def send(self, body: bytes) -> None:
        """Sends one body, of at most 64 MiB.

        Raises:
            ValueError: it is longer.
            OSError: nobody reads.
        """
        if len(body) > MAX_BYTES:
            raise ValueError(f"a message of {len(body)} bytes")
        data = len(body).to_bytes(4, "big") + body
        sent = self._write(self._sink, data)
        if sent < len(data):
            view = memoryview(data)[sent:]
            while view:
                view = view[self._write(self._sink, view) :]

    def close(self) -> None:
        """Lets go of the descriptors."""
        for descriptor in {self._source, self._sink}:
            self._close(descriptor)

    def _exactly(self, size: int) -> bytes | None:
        part = self._read(self._source, min(size, 1 << 20)) if size else b""
        if len(part) == size:
            return part
        parts = [part]
        size -= len(part)
        while size:
            if not part:
                return None
            part = self._read(self._source, min(size, 1 << 20))
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


class Line:
    """The candidate's process in another box, over a socket that was made outside: there is one, and no second one.

    Args:
        descriptor: our end of the socket.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._wire = Wire(descriptor, descriptor)
        self._ended = False

    def open(self) -> Wire:
        """This end of the line.

        Raises:
            OSError: the other one has ended.
        """
        if self._ended:
            raise OSError("the code under test ended its process before")
        return self._wire

    def close(self) -> None:
        """Hangs up. The other box ends with this one; until then whoever asks is told that nobody answers."""
        self._ended = True
        self._wire.close()


class Spawned:
    """The candidate's process in this very box, started from this one over a pair of pipes.

    Args:
        support: where our modules lie.
    """

    def __init__(self, support: str) -> None:
        self._support = support
        self._pid = 0
        self._wire: Wire | None = None
        self._kill, self._waitpid, self._spawn, self._close = os.kill, os.waitpid, os.posix_spawn, os.close

    def open(self) -> Wire:
        """Starts a process, and gives this end of what leads to it."""
        theirs, to = os.pipe()
        from_, theirs_out = os.pipe()
        for descriptor in (theirs, theirs_out):
            os.set_inheritable(descriptor, True)
        boot = (
            f"import sys; sys.path.insert(0, {self._support!r}); import _gw_crossing_candidate as c; "
            f"sys.path.pop(0); c.serve({theirs}, {theirs_out})"
        )
        arguments = [sys.executable, "-S", "-c", boot] if sys.flags.no_site else [sys.executable, "-c", boot]
        self._pid = self._spawn(sys.executable, arguments, os.environ)
        self._close(theirs)
        self._close(theirs_out)
        self._wire = Wire(from_, to)
        return self._wire

    def close(self) -> None:
        """Ends the process."""
        if self._wire is not None:
            self._wire.close()
            with contextlib.suppress(ProcessLookupError):
                self._kill(self._pid, signal.SIGKILL)
            self._waitpid(self._pid, 0)
            self._wire = None
