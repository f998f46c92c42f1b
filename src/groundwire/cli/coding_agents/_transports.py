"""How a server is reached: over its standard streams, or over HTTP on this machine, by who knows the token."""

from __future__ import annotations

import asyncio
import hmac
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, cast

import uvicorn
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from groundwire.cli._loopback import HOST
from groundwire.cli.coding_agents._server import GONE

MOST_MESSAGE_BYTES = 4 * 1024 * 1024
"""Of one message of a client; the longest argument, a patch, has a quarter of it."""
TOKEN_VARIABLE = "GROUNDWIRE_MCP_TOKEN"
_PIECE = 65536
_HALVES = re.compile(rb"(\\\\)|(\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u[dD][89a-fA-F]..")
"""In JSON: a backslash, a whole pair, or half of one."""
_HELD = 8
"""Messages of a request's body that may wait."""

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


# Standard streams.


class _Pump(threading.Thread):
    """Copies a client's lines into a pipe, and leaves out each that is longer than a message may be.

    Half of a surrogate pair, as is left of an emoji where a client cuts a text, is copied as U+FFFD: the SDK answers
    nothing at all to a line that holds one.

    Args:
        source: what the client writes to.
        target: the pipe, closed at the end, or when somebody else says that this is the end.
    """

    def __init__(self, source: int, target: int) -> None:
        super().__init__(daemon=True)  # the client's next line may never come
        self._source = source
        self._target = target
        self._open = threading.Lock()

    def run(self) -> None:
        """Copies until the client closes its side, or nobody reads any more."""
        line, too_long = bytearray(), False
        with suppress(OSError):
            while piece := os.read(self._source, _PIECE):
                *whole, rest = piece.split(b"\n")
                for end in whole:
                    line += end
                    if not too_long and len(line) <= MOST_MESSAGE_BYTES:
                        self._write(_HALVES.sub(_whole, bytes(line)) + b"\n")
                    line, too_long = bytearray(), False
                line += rest
                if len(line) > MOST_MESSAGE_BYTES:
                    line, too_long = bytearray(), True
        self.close()

    def close(self) -> None:
        """Lets whoever reads the pipe come to its end."""
        if self._open.acquire(blocking=False):  # once: the number may be another file's by then
            os.close(self._target)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._target, data) :]


def _whole(found: re.Match[bytes]) -> bytes:
    return found[1] or found[2] or rb"\ufffd"


async def serve_stdio(server: MCPServer) -> None:
    """Serves one client over the standard streams, until it closes them, or the process is asked to end."""
    client, (ours, target) = os.dup(0), os.pipe()
    os.dup2(ours, 0)
    os.close(ours)
    pump = _Pump(client, target)
    pump.start()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        # the SDK waits for the next line in a thread that nothing else wakes
        asyncio.get_running_loop().add_signal_handler(number, pump.close)
    await server.run_stdio_async()


# HTTP.


class OnlyWithToken:
    """Lets requests through that bring the token, and tells what runs for one when its client has gone.

    Args:
        app: what answers.
        token: what a client has to bring (`Authorization: Bearer …`).
    """

    def __init__(self, app: Any, token: str) -> None:
        self._app = app
        self._expected = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        brought = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        scheme, _, given = brought.partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self._expected):
            headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"The token is missing or wrong."})
            return
        gone = asyncio.Event()
        held: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_HELD)

        async def listen() -> None:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    gone.set()
                await held.put(message)
                if gone.is_set():
                    return

        async def next_message() -> dict[str, Any]:
            return {"type": "http.disconnect"} if gone.is_set() and held.empty() else await held.get()

        listening = asyncio.create_task(listen())
        try:
            await self._app({**scope, GONE: gone}, next_message, send)
        finally:
            listening.cancel()


async def serve_http(server: MCPServer, listener: socket.socket, token: str) -> None:
    """Serves clients on this machine (streamable HTTP, at `/mcp`) until the process is asked to end.

    Args:
        server: what answers.
        listener: bound to this machine's own address.
        token: what a client has to bring.
    """
    port = listener.getsockname()[1]
    own = [f"{HOST}:{port}", f"localhost:{port}"]
    security = TransportSecuritySettings(allowed_hosts=own, allowed_origins=[f"http://{host}" for host in own])
    app = server.streamable_http_app(
        transport_security=security, max_request_body_size=MOST_MESSAGE_BYTES, session_idle_timeout=900, host=HOST
    )
    guarded = cast("Any", OnlyWithToken(app, token))
    config = uvicorn.Config(guarded, log_level="error", access_log=False, timeout_graceful_shutdown=1, ws="none")
    print(f"mcp: http://{HOST}:{port}/mcp", file=sys.stderr)
    print(f"Authorization: Bearer {token}", file=sys.stderr, flush=True)
    await uvicorn.Server(config).serve(sockets=[listener])
