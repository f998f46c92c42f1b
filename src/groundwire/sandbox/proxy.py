"""Leads what is on an allow list out of a sandbox, and refuses the rest. Runs outside, in groundwire's own process.

It answers on a socket of the sandbox's loopback (`guest.door`), as an HTTP proxy: CONNECT, or an http address. What
goes through a connection is not looked at: the list says where it leads, not what is said.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Coroutine, Sequence
from typing import Any, Self

from groundwire.destinations import Destination
from groundwire.sandbox.allow_list import LISTED_NOT, AllowList, Refusals
from groundwire.sandbox.guest import door
from groundwire.sandbox.proxy_head import Answer, answer, read_head

__all__ = ["AllowListProxy", "proxy_environment"]

CONNECTIONS = 32
"""At once; more wait for their turn in the kernel's queue."""
HEAD_BYTES = 16 << 10
TOTAL_BYTES = 1 << 30
"""Through one command's proxy, both ways together."""
HEAD_S = 20.0
CONNECT_S = 20.0
IDLE_S = 120.0
LINGER_S = 1.0
LINGER_BYTES = 1 << 20
RETRY_S = 0.1
PIECE = 64 << 10
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def proxy_environment(allowed: Sequence[str]) -> dict[str, str]:
    """The variables by which programs find the proxy.

    The sandbox's own loopback is reached without it, unless a host of that name is listed, which is then the host's.
    """
    address = f"http://127.0.0.1:{door.PORT}"
    listed = AllowList(allowed).hosts()
    direct = ",".join(host for host in LOOPBACK if host not in listed)
    both = {"HTTP_PROXY": address, "HTTPS_PROXY": address, "ALL_PROXY": address, "NO_PROXY": direct}
    return {**both, **{name.lower(): value for name, value in both.items()}}


class AllowListProxy:
    """The proxy of one command. Closed with `aclose`, which ends every connection.

    Args:
        allowed: `host:port` each.
    """

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = AllowList(allowed)
        self.refusals = Refusals()
        self._left = TOTAL_BYTES
        self._free = asyncio.Semaphore(CONNECTIONS)
        self._listener: socket.socket | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._lookups: dict[Destination, asyncio.Task[list[str]]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def open(self, listener: socket.socket) -> None:
        """Begins to answer on this socket, which is closed with the proxy."""
        listener.setblocking(False)
        self._listener = listener
        self._start(self._accept(listener))

    async def aclose(self) -> None:
        """Ends it, with everything it started."""
        tasks: list[asyncio.Task[Any]] = [*self._tasks, *self._lookups.values()]
        for task in tasks:
            task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            if self._listener is not None:
                self._listener.close()

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._free.acquire()
            try:
                caller, _ = await loop.sock_accept(listener)
            except OSError:  # the caller is gone again, or this process has no descriptor left for now
                self._free.release()
                await asyncio.sleep(RETRY_S)
                continue
            # also where it is cancelled before it has begun
            self._start(self._serve(caller)).add_done_callback(lambda _, caller=caller: caller.close())

    async def _serve(self, caller: socket.socket) -> None:
        try:
            async with _streams(caller) as (reader, writer):
                try:
                    await self._lead_out(reader, writer)
                except Answer as refusal:
                    if refusal.status == 403:
                        self.refusals.add(refusal.target)
                    await _reply(reader, writer, answer(refusal.status, refusal.reason))
        except (OSError, EOFError):
            pass  # one of the two ends is gone or silent: so is the connection
        finally:
            self._free.release()

    async def _lead_out(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = read_head(await _head(reader))
        if self._left < 0:
            raise Answer(403, "this command has moved all the bytes it may", str(asked.destination))
        if asked.destination not in self._allowed:
            raise Answer(403, LISTED_NOT, str(asked.destination))
        outside = await self._connected(asked.destination)
        async with _streams(outside) as (far_reader, far_writer):
            if asked.head:
                far_writer.write(asked.head)
            else:
                writer.write(ESTABLISHED)
            with contextlib.suppress(OSError):
                async with asyncio.timeout(IDLE_S) as silence:
                    await _both(self._pass_on(reader, far_writer, silence), self._pass_on(far_reader, writer, silence))

    async def _connected(self, destination: Destination) -> socket.socket:
        loop = asyncio.get_running_loop()
        for address in await self._addresses(destination):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            outside = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
            try:
                async with asyncio.timeout(CONNECT_S):
                    await loop.sock_connect(outside, (address, destination.port))
            except OSError:  # TimeoutError is one
                outside.close()
            except BaseException:
                outside.close()
                raise
            else:
                return outside
        raise Answer(502, "the host does not answer")

    async def _addresses(self, destination: Destination) -> list[str]:
        if destination.is_address:
            return [destination.host]
        # looked up once a command: who answers for a name can't have it lead elsewhere later
        lookup = self._lookups.get(destination)
        if lookup is None or (lookup.done() and not _succeeded(lookup)):
            lookup = self._lookups[destination] = asyncio.create_task(_look_up(destination))
        try:
            found = await asyncio.shield(lookup)
        except OSError:
            raise Answer(502, "the name of the host is not known") from None
        reachable = self._allowed.reachable(destination, found)
        if not reachable:
            why = "the name leads to a private address, which is not on the list itself"
            raise Answer(403, why, str(destination))
        return reachable

    async def _pass_on(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, silence: asyncio.Timeout
    ) -> None:
        loop = asyncio.get_running_loop()
        while piece := await source.read(PIECE):
            self._left -= len(piece)
            if self._left < 0:
                raise ConnectionAbortedError
            if not silence.expired():
                silence.reschedule(loop.time() + IDLE_S)
            target.write(piece)
            await target.drain()
        target.write_eof()


async def _both(*ways: Coroutine[None, None, None]) -> None:
    """Runs both to their end; where one fails, the other ends with it.

    Raises:
        OSError: one failed.
    """
    try:
        async with asyncio.TaskGroup() as group:
            for way in ways:
                group.create_task(way)
    except* OSError as failures:
        raise ConnectionAbortedError from failures


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        async with asyncio.timeout(HEAD_S):
            return await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise Answer(431, "the head of the request is too long") from None


async def _reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: bytes) -> None:
    """Sends it, and lets the caller read it: to close on what is still being sent would take it back."""
    writer.write(reply)
    writer.write_eof()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            left = LINGER_BYTES
            while left > 0 and (piece := await reader.read(PIECE)):
                left -= len(piece)


@contextlib.asynccontextmanager
async def _streams(connected: socket.socket) -> AsyncGenerator[_Streams]:
    """A connection's streams; afterwards it is closed, whether or not the other end takes what is left."""
    try:
        reader, writer = await asyncio.open_connection(sock=connected, limit=HEAD_BYTES)
    except BaseException:
        connected.close()
        raise
    try:
        yield reader, writer
        writer.close()
        with contextlib.suppress(OSError):
            async with asyncio.timeout(LINGER_S):
                await writer.wait_closed()
    finally:
        writer.transport.abort()


async def _look_up(destination: Destination) -> list[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(destination.host, destination.port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]).partition("%")[0] for *_, address in found))


def _succeeded(task: asyncio.Task[list[str]]) -> bool:
    return not task.cancelled() and task.exception() is None
