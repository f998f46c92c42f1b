"""JSON to and from one HTTP server over aiohttp: whole answers, and streams of server-sent events.

What is not quite JSON over HTTP is read all the same (a byte order mark, another charset, an encoding that nobody asked
for), and what broke off is told from what never was an answer.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from groundwire.core._errors import ConfigError, ModelError
from groundwire.models._faults import (
    error_in,
    failed,
    from_answer,
    from_error,
    no_completion,
    not_connected,
    said_plainly,
    unreachable,
)
from groundwire.models._responses import usage_of

if TYPE_CHECKING:
    import aiohttp


DONE: Final[dict[str, Any]] = {}
"""The last event of a stream whose server says that all is there."""

MOST_BYTES = 64 * 2**20
"""Of one answer; more is no answer of a model."""
ERROR_BYTES = 2**16
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
EVENT_FIELDS = (b"data", b"error")
"""llama.cpp has sent errors in a field of their own."""
WORDS = ("true", "false", "null")
KEPT_OPEN_S = 30.0


class HttpClient:
    """Connections to one server, opened at the first request; each event loop has its own and closes them at its end.

    Proxies of the environment are not used, redirects not followed, cookies not kept, and nothing is decompressed.

    Args:
        url: the beginning of every address.
        api_key: the key; None sends none.
        model: what the user calls it, for messages.
        connect_s: seconds for which a connection is waited for.
    """

    def __init__(self, url: str, api_key: str | None, model: str, *, connect_s: float = 5.0) -> None:
        self._connect_s = connect_s
        self._url = url
        self._api_key = api_key
        self._model = model
        self._open: dict[asyncio.AbstractEventLoop, tuple[aiohttp.ClientSession, AsyncGenerator[Any]]] = {}

    async def ask(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The JSON object that a POST of `body` is answered with, or a GET where there is none.

        Raises:
            ModelError: as the status says, or the connection failed, or it is no JSON object.
            ConfigError: aiohttp is not installed.
        """
        async with self._answer(path, body) as response:
            return self._read(await self._whole(response), response.charset)

    async def events(self, path: str, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """The JSON objects that come in answer to `body`; the last is `DONE` where the server says that it is done.

        Where the server does not stream, its whole answer is the only one.

        Raises:
            ModelError: as for `ask`, or the server said in the middle that it failed.
        """
        async with self._answer(path, body) as response:
            parts = self._parts(response)
            if response.content_type != "text/event-stream":
                whole = await self._whole(response)
                if not _is_stream(whole):
                    yield self._read(whole, response.charset)
                    return
                parts = _once(whole)
            async for line in _lines(parts):
                name, _, data = line.removeprefix(BYTE_ORDER_MARK).partition(b":")
                data = data.strip()
                if name not in EVENT_FIELDS or not data or data == b"null":
                    continue
                if data == b"[DONE]":
                    yield DONE
                    return
                yield self._read(data, response.charset)

    async def aclose(self) -> None:
        """Closes this event loop's connections; a later request opens new ones."""
        kept = self._open.pop(asyncio.get_running_loop(), None)
        if kept is not None:
            await kept[1].aclose()

    @asynccontextmanager
    async def _answer(self, path: str, body: Mapping[str, Any] | None) -> AsyncGenerator[aiohttp.ClientResponse]:
        session = await self._session()  # where aiohttp is missing, it says so
        import aiohttp

        method = "GET" if body is None else "POST"
        try:
            async with session.request(method, self._url + path, json=body, allow_redirects=False) as response:
                if response.status >= 300:
                    raw = await response.content.read(ERROR_BYTES)
                    raise from_answer(response.status, raw, response.headers, model=self._model, api_key=self._api_key)
                yield response
        except aiohttp.ConnectionTimeoutError:
            fault = not_connected(self._model, self._connect_s)
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, ConnectionError) as error:
            is_new = isinstance(error, aiohttp.ClientConnectorError)
            fault = unreachable(self._model, self._said(error), unreached=is_new)
        except (aiohttp.ClientError, _Unreadable) as error:
            fault = no_completion(self._model, self._said(error))
        else:
            return
        # raised out here so that no traceback shows the request, whose headers hold the key
        raise fault

    async def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        kept = self._open.get(loop)
        if kept is None or kept[0].closed:
            self._open = {other: pair for other, pair in self._open.items() if not pair[0].closed}
            # an event loop closes, at its end, the asynchronous generators that were begun in it
            opened = _session(self._api_key, self._connect_s)
            kept = self._open[loop] = (await anext(opened), opened)
        return kept[0]

    async def _whole(self, response: aiohttp.ClientResponse) -> bytes:
        return b"".join([part async for part in self._parts(response)])

    async def _parts(self, response: aiohttp.ClientResponse) -> AsyncGenerator[bytes]:
        """The body as it comes, decompressed where it is compressed although nobody asked for that."""
        unpack = _unpacker(response.headers.get("content-encoding", ""))
        size = 0
        async for part in response.content.iter_any():
            plain = unpack(part, MOST_BYTES - size + 1)
            size += len(plain)
            if size > MOST_BYTES:
                raise _TOO_MUCH
            yield plain

    def _read(self, raw: bytes, charset: str | None) -> dict[str, Any]:
        return read_body(raw, charset, model=self._model, api_key=self._api_key)

    def _said(self, error: Exception) -> str:
        return said_plainly(str(error) or type(error).__name__, self._api_key)


def check_client() -> None:
    """Raises ConfigError where aiohttp, which is loaded at the first request, is not installed."""
    if importlib.util.find_spec("aiohttp") is None:
        raise ConfigError(
            "A server can't be asked: aiohttp is not installed.", do='pip install "groundwire[openai-compatible]"'
        )


def read_body(raw: bytes, charset: str | None = None, *, model: str, api_key: str | None) -> dict[str, Any]:
    """The JSON object that a body is.

    Args:
        raw: the body, or one event of a stream.
        charset: the one that the server names; used where the body is not UTF-8, as JSON has to be.
        model: the id as the user named it.
        api_key: the key that was sent, so that it can be hidden.

    Raises:
        ModelRetryable: it is empty, broke off, or says that the server failed for now.
        ModelRejected: it says what can never work.
        ModelReplyInvalid: it is something else.
    """
    text = _decoded(raw, charset)
    if not text.strip():
        raise failed(model, "Its answer is empty.")
    try:
        value: object = json.loads(text)
    except RecursionError:
        value = None
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError) and _broke_off(error):
            raise unreachable(model, "The answer broke off.") from None
        value = None
    if not isinstance(value, dict):
        said = said_plainly(text[:ERROR_BYTES], api_key)
        raise no_completion(model, f"It is a web page: {said}" if text.lstrip()[:1] == "<" else said)
    body = cast("dict[str, Any]", value)
    if error := error_in(body):
        fault: ModelError = from_error(error, model=model, api_key=api_key)
        fault.used = usage_of(body)
        raise fault
    return body


def _decoded(raw: bytes, charset: str | None) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    try:
        return raw.decode(charset or "utf-8", "replace")
    except LookupError:
        return raw.decode("utf-8", "replace")


def _broke_off(error: json.JSONDecodeError) -> bool:
    """True where what is there could go on to be JSON."""
    rest = error.doc[error.pos :].strip()
    begins = error.doc.lstrip()[:1] in ("{", "[")
    return begins and (not rest or error.msg.startswith("Unterminated") or any(w.startswith(rest) for w in WORDS))


class _Unreadable(Exception):
    """A body that is left where it is; says why."""


_TOO_MUCH = _Unreadable(f"It is longer than {MOST_BYTES // 2**20} MiB.")


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    """What turns a piece of a body into plain bytes, at most so many."""
    if encoding.strip().lower() in ("", "identity"):
        return lambda part, _most: part
    if encoding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
        raise _Unreadable(f"It is compressed ({encoding[:40]}), which was not asked for.")
    packed = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def unpack(part: bytes, most: int) -> bytes:
        try:
            return packed.decompress(part, most)
        except zlib.error as error:
            raise _Unreadable(f"It is no {encoding}: {error}.") from None

    return unpack


def _is_stream(body: bytes) -> bool:
    """True for server-sent events that are not called so."""
    return body.removeprefix(BYTE_ORDER_MARK).lstrip().startswith((b"data:", b"event:", b"id:", b": "))


async def _once(body: bytes) -> AsyncGenerator[bytes]:
    yield body


async def _session(api_key: str | None, connect_s: float) -> AsyncGenerator[aiohttp.ClientSession]:
    check_client()
    import aiohttp

    headers = {"accept-encoding": "identity"} | ({"authorization": f"Bearer {api_key}"} if api_key else {})
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_OPEN_S),
        # the deadline of an attempt is around all of it
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_s),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        headers=headers,
    ) as session:
        yield session


async def _lines(parts: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Lines of what comes in parts; aiohttp's own reader refuses long ones."""
    begun: list[bytes] = []
    async for part in parts:
        *ended, rest = part.split(b"\n")
        for line in ended:
            yield b"".join((*begun, line))
            begun.clear()
        begun.append(rest)
    yield b"".join(begun)
