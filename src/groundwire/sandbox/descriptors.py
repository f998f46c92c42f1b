"""Pipes that are closed again, and sockets that are waited for."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["pipe", "readable", "writable"]


async def readable(near: socket.socket) -> None:
    """Waits until a socket has something to read."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(near, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(near)


async def writable(near: socket.socket) -> None:
    """Waits until a socket takes more."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_writer(near, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_writer(near)


@contextmanager
def pipe() -> Generator[list[int]]:
    """A pipe as `[reading end, writing end]`; what is still open is closed afterwards. -1 marks an end as closed."""
    ends = list(os.pipe2(os.O_CLOEXEC))
    try:
        yield ends
    finally:
        for fd in ends:
            if fd >= 0:
                os.close(fd)
