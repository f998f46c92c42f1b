"""Leads what is on an allow list out of a sandbox, and refuses the rest. Runs outside, in groundwire's own process.

It answers on a socket of the sandbox's loopback (`guest.door`), as an HTTP proxy: CONNECT, or an http address. What
goes through a connection is not looked at: the list says where it leads, not what is said.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import socket
from collections.abc import AsyncGenerator, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from groundwire.core._sandboxes import Destination
from groundwire.sandbox.guest import door

# Decides where a command with an allow list may connect to. Pure: looks nothing up and opens nothing.

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

LISTED_NOT = "not on the list of hosts of this command"
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# clouds' metadata services at addresses that look public; the others are link-local or private
METADATA = frozenset({ipaddress.IPv4Address("168.63.129.16")})
MOST_NAMED = 16
MAX_SHOWN = 120


class AllowList:
    """Destinations that may be reached.

    Args:
        entries: `host:port` each.

    Raises:
        ValueError: an entry is something else.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        self._listed = frozenset(map(Destination.parse, entries))

    def __contains__(self, destination: Destination) -> bool:
        return destination in self._listed

    def reachable(self, destination: Destination, addresses: Iterable[str]) -> list[str]:
        """Which of the addresses that a listed host was found at may be connected to.

        A name that leads to this machine, to its network or to a cloud's metadata leads nowhere, whoever answers for
        it: such an address is reached only where that very address is listed.
        """
        found: list[str] = []
        for text in addresses:
            address = _plain(ipaddress.ip_address(text))
            if is_public(address) or Destination(str(address), destination.port, True) in self._listed:
                found.append(str(address))
        return found

    def hosts(self) -> frozenset[str]:
        """The hosts on the list, without their ports."""
        return frozenset(entry.host for entry in self._listed)


class Refusals:
    """What a command was refused: all of it counted, the first few named."""

    def __init__(self) -> None:
        self.count = 0
        self._named: dict[str, None] = {}

    def add(self, target: str) -> None:
        """Takes note of one. `target` is the command's own text: kept short and plain."""
        self.count += 1
        if len(self._named) < MOST_NAMED:
            self._named[ascii(target[:MAX_SHOWN])[1:-1]] = None

    @property
    def named(self) -> tuple[str, ...]:
        """The first that differ, printable."""
        return tuple(self._named)


def is_public(address: Address) -> bool:
    """True for an address of the public internet, and of nothing that stands for a private one."""
    address = _plain(address)
    if isinstance(address, ipaddress.IPv6Address):
        # addresses that carry an IPv4 one, to which a gateway may lead
        inner = address.sixtofour or (address.teredo[1] if address.teredo else None)
        if address in NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast and not address.is_reserved and address not in METADATA


def _plain(address: Address) -> Address:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


# Reads the head of a request to a proxy. Pure; everything in it is hostile text.

_REQUEST = re.compile(r"([A-Z]{1,20}) ([\x21-\x7e]+) HTTP/1\.[01]")
_FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[^\x00\r\n]*")
_ABSOLUTE = re.compile(r"(?i:http)://([^/?#@]+)([/?][^#]*)?")
# meant for the proxy, or about a connection that ends here
_DROPPED = frozenset({"connection", "host", "keep-alive", "proxy-authorization", "proxy-connection"})
HTTP_PORT = 80


@dataclass(frozen=True)
class ProxyRequest:
    """What a request wants.

    Args:
        destination: where it wants to go.
        head: what is sent on; empty: the connection itself is asked for.
    """

    destination: Destination
    head: bytes = b""


class ProxyResponse(Exception):
    """The request gets an answer of ours.

    Args:
        status: of HTTP.
        reason: our own words, without any of the request's.
        target: where it wanted to go, in its own words, if that was the trouble.
    """

    def __init__(self, status: int, reason: str, target: str = "") -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.target = target


def answer(status: int, reason: str) -> bytes:
    """A whole response; the connection ends with it."""
    body = f"groundwire: {reason}\n"
    fields = f"Content-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    return f"HTTP/1.1 {status} {reason}\r\n{fields}\r\n{body}".encode("ascii")


def read_head(data: bytes) -> ProxyRequest:
    """Reads a head, up to and with its empty line.

    Raises:
        Answer: it is not one that a proxy is sent.
    """
    request, *fields = data.removesuffix(b"\r\n\r\n").decode("latin-1").split("\r\n")
    match = _REQUEST.fullmatch(request)
    names = [_FIELD.fullmatch(field) for field in fields]
    if match is None or not all(names):
        raise ProxyResponse(400, "not a request that a proxy understands")
    method, target = match.groups()
    if method == "CONNECT":
        return ProxyRequest(_destination(target, target))
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        raise ProxyResponse(400, "not a request to a proxy: CONNECT or an http address is", target)
    authority, path = absolute[1], absolute[2] or "/"
    has_port = re.search(r":[0-9]+\Z", authority)
    destination = _destination(authority if has_port else f"{authority}:{HTTP_PORT}", target)
    kept = [field for field, name in zip(fields, names, strict=True) if name and name[1].lower() not in _DROPPED]
    path = path if path.startswith("/") else f"/{path}"
    lines = [f"{method} {path} HTTP/1.1", f"Host: {authority}", *kept, "Connection: close", "", ""]
    return ProxyRequest(destination, "\r\n".join(lines).encode("latin-1"))


def _destination(text: str, target: str) -> Destination:
    try:
        return Destination.parse(text)
    except ValueError:
        raise ProxyResponse(403, "not the name of a host and a port", target) from None


# Leads what is on an allow list out of a sandbox, and refuses the rest. Runs outside, in groundwire's own process.

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
                except ProxyResponse as refusal:
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
            raise ProxyResponse(403, "this command has moved all the bytes it may", str(asked.destination))
        if asked.destination not in self._allowed:
            raise ProxyResponse(403, LISTED_NOT, str(asked.destination))
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
        raise ProxyResponse(502, "the host does not answer")

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
            raise ProxyResponse(502, "the name of the host is not known") from None
        reachable = self._allowed.reachable(destination, found)
        if not reachable:
            why = "the name leads to a private address, which is not on the list itself"
            raise ProxyResponse(403, why, str(destination))
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
        raise ProxyResponse(431, "the head of the request is too long") from None


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
