"""Reads a command's output as it comes, in memory that does not grow with it."""

from __future__ import annotations

import asyncio
import os

from groundwire.sandbox.guest.headtail import HeadTail

CHUNK_BYTES = 256 * 1024
MAX_SAID = 2000
LAST_WORDS_S = 1.0


class Drain:
    """Reads a descriptor from now on, until its end or until it is closed.

    Closing takes effect at once: the caller closes the descriptor next, and its number may be another pipe's before
    the event loop comes round again.

    Args:
        fd: the reading end of a pipe; made non-blocking. The caller closes it, after `close`.
        into: what keeps the bytes.
    """

    def __init__(self, fd: int, into: HeadTail) -> None:
        self._loop = asyncio.get_running_loop()
        self._fd = fd
        self._into = into
        self.ended: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._read)

    def close(self) -> None:
        """Reads no more."""
        if not self.ended.done():
            self._loop.remove_reader(self._fd)
            self.ended.cancel()

    def _read(self) -> None:
        if self.ended.done():  # it was already due when it was closed
            return
        try:
            chunk = os.read(self._fd, CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if chunk:
            self._into.add(chunk)
        else:
            self._loop.remove_reader(self._fd)
            self.ended.set_result(None)


class Overheard:
    """Listens to what a guest writes while it starts, so that it can be told why it did not.

    Args:
        fd: the reading end of its standard error.
    """

    def __init__(self, fd: int) -> None:
        self._kept = HeadTail(MAX_SAID)
        self._drain = Drain(fd, self._kept)

    async def __aenter__(self) -> Overheard:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._drain.close()

    async def text(self) -> str:
        """What it wrote, once it has ended or a moment has passed."""
        await asyncio.wait([self._drain.ended], timeout=LAST_WORDS_S)
        return self._kept.kept.decode(errors="replace").strip()
