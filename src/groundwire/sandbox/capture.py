"""Reads a command's output as it comes, in memory that does not grow with it."""

from __future__ import annotations

import asyncio
import os

from groundwire.sandbox.guest.headtail import HeadTail

__all__ = ["Overheard", "drain"]

CHUNK_BYTES = 256 * 1024
MAX_SAID = 2000
LAST_WORDS_S = 1.0


async def drain(fd: int, into: HeadTail) -> None:
    """Reads `fd` until its end. The caller closes it.

    Args:
        fd: the reading end of a pipe; made non-blocking.
        into: what keeps the bytes.
    """
    loop = asyncio.get_running_loop()
    os.set_blocking(fd, False)
    done = loop.create_future()

    def read() -> None:
        try:
            chunk = os.read(fd, CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            if not done.done():
                done.set_exception(error)
            return
        if chunk:
            into.add(chunk)
        elif not done.done():
            loop.remove_reader(fd)
            done.set_result(None)

    loop.add_reader(fd, read)
    try:
        await done
    finally:
        loop.remove_reader(fd)


class Overheard:
    """Listens to what a guest writes while it starts, so that it can be told why it did not.

    Args:
        fd: the reading end of its standard error.
    """

    def __init__(self, fd: int) -> None:
        self._kept = HeadTail(MAX_SAID)
        self._task = asyncio.ensure_future(drain(fd, self._kept))

    async def __aenter__(self) -> Overheard:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def text(self) -> str:
        """What it wrote, once it has ended or a moment has passed."""
        await asyncio.wait([self._task], timeout=LAST_WORDS_S)
        return self._kept.kept.decode(errors="replace").strip()
