"""JSON to and from one HTTP server over aiohttp: whole answers, and streams of server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from groundwire.agents.backends.faults import no_completion, said_plainly, unreachable
from groundwire.agents.backends.http_faults import from_answer, from_event
from groundwire.errors import ConfigError, ModelReplyInvalid

if TYPE_CHECKING:
    import aiohttp

__all__ = ["HttpClient"]

MOST_BYTES = 64 * 2**20
"""Of one answer; more is no answer of a model."""
ERROR_BYTES = 2**16
KEPT_OPEN_S = 30.0


class HttpClient:
    """Connections to one server, opened at the first request; each event loop has its own and closes them at its end.

    Proxies of the environment are not used, redirects not followed, cookies not kept, and nothing is decompressed.

    Args:
        url: the beginning of every address.
        api_key: the key; None sends none.
        model: what the user calls it, for messages.
    """

    def __init__(self, url: str, api_key: str | None, model: str) -> None:
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
            return self._json(await self._whole(response))

    async def events(self, path: str, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """The JSON objects that come in answer to `body`, until the server says that it is done.

        Where the server does not stream, its whole answer is the only one.

        Raises:
            ModelError: as for `ask`, or the server said in the middle that it failed.
        """
        async with self._answer(path, body) as response:
            if response.content_type != "text/event-stream":
                yield self._json(await self._whole(response))
                return
            async for line in _lines(response.content.iter_any()):
                if not line.startswith(b"data:"):
                    continue
                data = line[5:].strip()
                if data == b"[DONE]":
                    return
                event = self._json(data)
                if "error" in event:
                    raise from_event(event["error"], model=self._model, api_key=self._api_key)
                yield event

    async def aclose(self) -> None:
        """Closes this event loop's connections; a later request opens new ones."""
        kept = self._open.pop(asyncio.get_running_loop(), None)
        if kept is not None:
            await kept[1].aclose()

    @asynccontextmanager
    async def _answer(self, path: str, body: Mapping[str, Any] | None) -> AsyncGenerator[aiohttp.ClientResponse]:
        import aiohttp

        session = await self._session()
        method = "GET" if body is None else "POST"
        try:
            async with session.request(method, self._url + path, json=body, allow_redirects=False) as response:
                if response.status >= 300:
                    raw = await response.content.read(ERROR_BYTES)
                    raise from_answer(response.status, raw, response.headers, model=self._model, api_key=self._api_key)
                yield response
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, ConnectionError) as error:
            fault = unreachable(self._model, self._said(error))
        except (aiohttp.ClientError, _TooMuch) as error:
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
            opened = _session(self._api_key)
            kept = self._open[loop] = (await anext(opened), opened)
        return kept[0]

    async def _whole(self, response: aiohttp.ClientResponse) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in response.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                raise _TooMuch
        return b"".join(parts)

    def _json(self, raw: bytes) -> dict[str, Any]:
        try:
            value: object = json.loads(raw)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise self._no_object(raw)
        return cast("dict[str, Any]", value)

    def _no_object(self, raw: bytes) -> ModelReplyInvalid:
        said = said_plainly(raw[:ERROR_BYTES].decode("utf-8", "replace"), self._api_key)
        return no_completion(self._model, said or "It is empty.")

    def _said(self, error: Exception) -> str:
        return said_plainly(str(error) or type(error).__name__, self._api_key)


class _TooMuch(Exception):
    def __str__(self) -> str:
        return f"It is longer than {MOST_BYTES // 2**20} MiB."


async def _session(api_key: str | None) -> AsyncGenerator[aiohttp.ClientSession]:
    try:
        import aiohttp
    except ImportError as error:
        raise ConfigError(
            "A server can't be asked: aiohttp is not installed.", do='pip install "groundwire[openai-compatible]"'
        ) from error
    headers = {"accept-encoding": "identity"} | ({"authorization": f"Bearer {api_key}"} if api_key else {})
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_OPEN_S),
        timeout=aiohttp.ClientTimeout(total=None),  # the deadline of an attempt is around all of it
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        headers=headers,
    ) as session:
        yield session


async def _lines(parts: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Lines of what comes in parts; aiohttp's own reader refuses long ones."""
    begun: list[bytes] = []
    size = 0
    async for part in parts:
        *ended, rest = part.split(b"\n")
        for line in ended:
            yield b"".join((*begun, line))
            begun.clear()
        begun.append(rest)
        size += len(part)
        if size > MOST_BYTES:
            raise _TooMuch
    yield b"".join(begun)
