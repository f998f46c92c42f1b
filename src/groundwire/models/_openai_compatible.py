"""`openai-compatible:URL#MODEL`: a server of one's own, asked directly, so that the client keeps up with a GPU.

LiteLLM spends 4 to 6 ms of CPU on a call, which starves an engine that answers hundreds at once; this takes a tenth of
that. Request, answer, errors and retries are the same.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from groundwire.core._errors import ConfigError, ModelError, ModelRejected, Usage
from groundwire.core._models import Completion, OnText, Request
from groundwire.core._prompt_text import estimate_tokens
from groundwire.core._traits import BackendTraits
from groundwire.models._chat import all_of, chat_body, is_begun, with_attempts
from groundwire.models._faults import KEY_VARIABLE, late, said_plainly, unreachable
from groundwire.models._guard import check_model_calls
from groundwire.models._http_client import DONE, HttpClient, check_client
from groundwire.models._prices import Rates, prompt_tokens_bound
from groundwire.models._responses import read_response, usage_of
from groundwire.models._retries import Retries
from groundwire.models._slots import PerLoop, Slots
from groundwire.models._streams import Assembly

SCHEME = "openai-compatible:"
NAMES_SHOWN = 5

KILLED = "killed"
"""The finish reason of an answer that was not worth going on with."""

GoesOn = Callable[[Sequence[float]], bool]
"""Told of a token's likeliest log probabilities, highest first; False ends the answer behind it."""

T = TypeVar("T")


@dataclass(frozen=True)
class Watched:
    """One attempt at an answer that may be ended."""

    goes_on: GoesOn
    prompt_tokens: int
    """Estimated: a server whose connection was ended tells no count."""

    @classmethod
    def over(cls, request: Request, goes_on: GoesOn) -> Watched:
        """An attempt at answering `request`."""
        return cls(goes_on, sum(estimate_tokens(message.content) for message in request.messages))


class OpenAICompatibleBackend:
    """A model behind a server that speaks OpenAI's chat API: vLLM, llama.cpp, SGLang, Ollama, LM Studio.

    Retries have one owner, here. A call that is cancelled closes its connection at once, so that the server can stop.

    Args:
        url: the server's address; `/v1` is added where it has no path.
        model: the name that the server knows it by; empty: the only one that the server lists.
        usd_per_token: (prompt, completion) price in US dollars a token, needed under a money budget: what stands behind
            a server is not known. `(0, 0)`: free.
        timeout_s: seconds that one attempt may take in all.
        max_attempts: requests sent at most for one answer.
        max_in_flight: requests in flight at once, over all callers of this backend.
        api_key: the key; default: `OPENAI_COMPATIBLE_API_KEY` in the environment, else none is sent.
        backoff_s: seconds; the top of the first random wait between attempts.
        max_wait_s: seconds; the longest wait between attempts.
        echoes: True if the server gives an answer that was begun (a last message of the assistant) back as a whole.
        name: what the user calls the model, for messages; default: its address.
        extra: fields of a request's body that this server knows beyond the API.
        has_windows: True where `extra` tells it of a penalty on thought switching, which is a `logit_bias` otherwise.

    Raises:
        ConfigError: an argument is out of range, or the address is none.
    """

    def __init__(
        self,
        url: str,
        model: str = "",
        *,
        usd_per_token: tuple[float, float] | None = None,
        timeout_s: float = 120.0,
        max_attempts: int = 4,
        max_in_flight: int = 256,
        api_key: str | None = None,
        backoff_s: float = 1.0,
        max_wait_s: float = 60.0,
        echoes: bool = False,
        name: str | None = None,
        extra: Callable[[Request], Mapping[str, Any]] = lambda _request: {},
        has_windows: bool = False,
    ) -> None:
        base = _checked(url)
        self._model = model
        self._name = name or f"{SCHEME}{url}{f'#{model}' if model else ''}"
        self._rates = Rates.given(usd_per_token)
        self._slots = Slots(max_in_flight, timeout_s)
        self._retries = Retries(max_attempts, backoff_s, max_wait_s)
        self._api_key = _key(api_key or os.environ.get(KEY_VARIABLE, ""))
        self._client = HttpClient(base, self._api_key, self._name, connect_s=self._slots.connect_s)
        self._looking = PerLoop(asyncio.Lock)
        if echoes:
            self.traits = BackendTraits(continues=True)
        self._echoes = echoes
        self._extra = extra
        self._has_windows = has_windows

    @classmethod
    def from_spec(cls, spec: str, **options: Any) -> OpenAICompatibleBackend:
        """The backend of `URL` or `URL#MODEL`; `options` are the constructor's."""
        url, _, model = spec.partition("#")
        return cls(url, model, **options)

    def __repr__(self) -> str:
        return f"OpenAICompatibleBackend({self._name!r})"

    @property
    def model(self) -> str:
        """See `Backend`."""
        return self._name

    def check_ready(self) -> None:
        """See `Readiness`. Nothing is sent.

        Raises:
            ConfigError: aiohttp is not installed.
        """
        check_client()

    async def complete(self, request: Request) -> Completion:
        """See `Backend`. Where some samples don't hold to the schema, there are fewer texts than `n`, never none.

        Raises:
            ModelRejected, ModelRetryable, ModelReplyInvalid: see `Backend`.
            ConfigError: aiohttp is not installed.
        """
        return await self._complete(request, None)

    async def stream(self, request: Request, on_text: OnText) -> Completion:
        """See `Streaming`.

        Raises:
            ModelRejected, ModelRetryable, ModelReplyInvalid, ConfigError: as `complete`.
        """
        return await self._complete(request, on_text)

    async def stream_while(self, request: Request, watch: Callable[[], GoesOn]) -> Completion:
        """One sample, for as long as it is worth it; see `agents.width.confident_vote.StreamsProbabilities`.

        Raises:
            ModelRejected, ModelRetryable, ModelReplyInvalid, ConfigError: as `complete`.
        """
        return await self._complete(request, lambda _index, _text: None, watch)

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        """See `Backend`. If one fails, the others are cancelled and its error is raised."""
        return await all_of([self.complete(request) for request in requests])

    def price(self, request: Request) -> float | None:
        """See `Backend`. None unless a price was given."""
        if self._rates is None:
            return None
        return self._rates.usd(prompt_tokens_bound(request), request.max_tokens * request.n)

    async def aclose(self) -> None:
        """Closes the connections; a later call opens new ones."""
        await self._client.aclose()

    async def models(self) -> list[str]:
        """The names that the server lists.

        Raises:
            ModelRejected, ModelRetryable, ModelReplyInvalid: see `Backend`.
        """
        check_model_calls(self._name)
        listed = await self._retries.run(lambda: self._in_time(self._client.ask("/models")))
        entries = listed.answer.get("data")
        names = [cast("dict[str, Any]", e).get("id") for e in cast("list[Any]", entries or []) if isinstance(e, dict)]
        return [name for name in names if isinstance(name, str)]

    def _body(self, request: Request) -> dict[str, Any]:
        return chat_body(request, has_windows=self._has_windows)

    async def _complete(
        self, request: Request, on_text: OnText | None, watch: Callable[[], GoesOn] | None = None
    ) -> Completion:
        check_model_calls(self._name)
        body = {"model": self._model or await self._only_model(), **self._body(request), **self._extra(request)}
        tries = count()
        retried = await self._retries.run(
            lambda: self._send(body, request, on_text, watch and Watched.over(request, watch()), again=next(tries) > 0)
        )
        return with_attempts(retried)

    async def _send(
        self, body: dict[str, Any], request: Request, on_text: OnText | None, watched: Watched | None, *, again: bool
    ) -> Completion:
        first_token_s: float | None = None
        try:
            async with self._slots.here():
                if on_text is None:
                    response = await self._in_time(self._client.ask("/chat/completions", body))
                else:
                    response, first_token_s = await self._in_time(self._streamed(body, on_text, watched, again=again))
            completion = read_response(
                response,
                request,
                model=self._name,
                api_key=self._api_key,
                begun=request.messages[-1].content if self._echoes and is_begun(request) else "",
                first_token_s=first_token_s,
            )
        except ModelError as error:
            if error.used is not None:
                error.used = replace(error.used, usd=self._usd(error.used))
            raise
        used = Usage(completion.prompt_tokens, completion.completion_tokens)
        return completion.model_copy(update={"usd": self._usd(used)})

    def _usd(self, used: Usage) -> float | None:
        return self._rates.usd(used.prompt_tokens, used.completion_tokens) if self._rates else None

    async def _streamed(
        self, body: dict[str, Any], on_text: OnText, watched: Watched | None, *, again: bool
    ) -> tuple[dict[str, Any], float | None]:
        assembly, said_so = Assembly(on_text, again=again), False
        asked = {**body, "stream": True, "stream_options": {"include_usage": True}}
        try:
            async with aclosing(self._client.events("/chat/completions", asked)) as events:
                async for event in events:
                    said_so = event is DONE
                    assembly.add(event)
                    if watched and not all(map(watched.goes_on, assembly.new_tokens())):
                        assembly.end(KILLED, watched.prompt_tokens)
                        break  # which closes the connection, and so frees the engine's slot
            if not assembly.is_whole(said_so=said_so):
                raise unreachable(self._name, "The answer broke off.")
        except ModelError as error:
            error.used = error.used or usage_of(assembly.response())
            raise
        return assembly.response(), assembly.first_token_s

    async def _in_time(self, answer: Awaitable[T]) -> T:
        try:
            async with self._slots.deadline():
                return await answer
        except TimeoutError:
            raise late(self._name, self._slots.timeout_s) from None

    async def _only_model(self) -> str:
        async with self._looking.here():
            if not self._model:
                names = await self.models()
                if len(names) != 1:
                    shown = ", ".join(said_plainly(name) for name in names[:NAMES_SHOWN]) or "none"
                    raise ModelRejected(
                        f"{self._name} does not say which model is meant; the server lists {len(names)}: {shown}.",
                        do=f"Name one: {self._name}#MODEL",
                    )
                self._model = names[0]
            return self._model


def _key(given: str) -> str | None:
    """A key without the blanks and line ends around it that come of reading it from a file; None for an empty one.

    Raises:
        ConfigError: it holds what no header may. The message does not repeat it.
    """
    key = given.strip()
    if not key.isprintable():
        raise ConfigError("The server's key holds a control character.", do=f"Set {KEY_VARIABLE} to the key alone.")
    return key or None


def _checked(url: str) -> str:
    """The beginning of the server's addresses.

    Raises:
        ConfigError: it is no HTTP address, or holds what does not belong there.
    """
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        whole, parts = False, urlsplit("")
    if not whole or parts.query or parts.fragment or not url.isprintable() or url != "".join(url.split()):
        raise ConfigError(
            f"{url!r} is not the address of a server.", do="Write openai-compatible:http://HOST:PORT/v1 or …/v1#MODEL."
        )
    if "@" in parts.netloc:
        raise ConfigError("A server's address must not hold a key.", do=f"Set {KEY_VARIABLE} in the environment.")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/') or '/v1'}"
