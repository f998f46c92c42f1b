"""`local`: a language model on this machine's CPU, through llama.cpp's server. No key, no network, free."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from groundwire.core._errors import ConfigError, ModelRetryable
from groundwire.core._models import Completion, OnText, Request
from groundwire.core._paths import expand_user
from groundwire.core._traits import BackendTraits
from groundwire.models._chat import all_of, merged, split
from groundwire.models._guard import check_model_calls
from groundwire.models._openai_compatible import OpenAICompatibleBackend
from groundwire.models.local_model import (
    SMOLLM2,
    LlamaServer,
    ServerOptions,
    engine_is_installed,
    file_digest,
    find_model,
    server_for,
    verify_model,
)
from groundwire.models.local_model._files import check_is_model
from groundwire.models.local_model._server import EXTRA
from groundwire.models.model_server import in_thread

TIMEOUT_S = 600.0
"""A large model on a busy CPU is slow; who is in a hurry has a deadline of their own."""
DIGEST_SHOWN = 12


class LocalBackend:
    """A GGUF model on the CPU. Its server, a process of ours, starts when the first call is made.

    The same request with the same seed gives the same texts, whatever else is asked at the time; on another processor
    or with another number of threads they may differ. What answered is recorded as `NAME@` and the beginning of the
    file's sha256.

    Args:
        path: a GGUF file; None: the small model that `groundwire model install` fetches, checked against its digest.
        options: slots, context and threads.

    Raises:
        ConfigError: the engine or the model is not installed, or the file is no GGUF model.
    """

    traits = BackendTraits(continues=True)
    """llama.cpp's server writes on where a begun answer stands."""

    def __init__(self, path: str | Path | None = None, options: ServerOptions | None = None) -> None:
        if not engine_is_installed():
            raise ConfigError("A local model can't be run: xllamacpp is not installed.", do=EXTRA)
        self._pinned = path is None
        self._path = _installed() if path is None else expand_user(path)
        check_is_model(self._path)
        self._options = options or ServerOptions()
        self._model = "local" if path is None else f"local:{path}"
        self._name = ""
        self._connected: tuple[LlamaServer, OpenAICompatibleBackend] | None = None
        self._earlier: list[OpenAICompatibleBackend] = []
        """Clients of servers that have ended; others may still wait in them."""

    def __repr__(self) -> str:
        return f"LocalBackend({self._model!r})"

    @property
    def model(self) -> str:
        """See `Backend`."""
        return self._model

    @property
    def path(self) -> Path:
        """The model's file."""
        return self._path

    @property
    def server(self) -> LlamaServer | None:
        """The server that answers; None before the first call."""
        return self._connected[0] if self._connected else None

    async def complete(self, request: Request) -> Completion:
        """See `Backend`. A server that has died is started again, once.

        Raises:
            ModelRejected: the file is damaged or was changed, llama.cpp can't load it, or the prompt is too long.
            ModelRetryable, ModelReplyInvalid: see `Backend`.
            ConfigError: aiohttp is not installed.
        """
        return await self._complete(request, lambda client: self._many(client, request))

    async def stream(self, request: Request, on_text: OnText) -> Completion:
        """See `Streaming`.

        Raises:
            ModelRejected, ModelRetryable, ModelReplyInvalid, ConfigError: as `complete`.
        """
        if request.n == 1:
            return await self._complete(request, lambda client: client.stream(request, on_text))
        completion = await self.complete(request)
        for index, text in enumerate(completion.texts):
            on_text(index, text)
        return completion

    async def _many(self, client: OpenAICompatibleBackend, request: Request) -> Completion:
        # llama.cpp rejects more samples in one request than it has slots
        return merged(await client.complete_many(split(request, self._options.slots)))

    async def _complete(
        self, request: Request, ask: Callable[[OpenAICompatibleBackend], Coroutine[Any, Any, Completion]]
    ) -> Completion:
        check_model_calls(self._model)
        server, client = await self._connect()
        try:
            return await ask(client)
        except ModelRetryable:
            if await in_thread(server.is_alive, self._model):
                raise
        server, client = await self._connect(dead=server)
        try:
            return await ask(client)
        except ModelRetryable as error:
            raise ModelRetryable(
                f"The server of {self._model} ended, and after a new start it failed too. {error.what}",
                do="Check that memory is free (groundwire doctor), then run it again.",
            ) from error

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        """See `Backend`. If one fails, the others are cancelled and its error is raised."""
        return await all_of([self.complete(request) for request in requests])

    def price(self, request: Request) -> float | None:
        """Always free."""
        return 0.0

    async def aclose(self) -> None:
        """Closes the HTTP clients; the server stays for others of this process, until its end."""
        while self._earlier:
            await self._earlier.pop().aclose()
        if self._connected is not None:
            await self._connected[1].aclose()

    async def _connect(self, dead: LlamaServer | None = None) -> tuple[LlamaServer, OpenAICompatibleBackend]:
        if self._connected is not None and self._connected[0] is not dead:
            return self._connected
        server = await in_thread(partial(self._start, dead), self._model)
        client = OpenAICompatibleBackend(
            f"{server.url}/v1",
            self._name,
            name=self._model,
            api_key=server.key,
            usd_per_token=(0.0, 0.0),
            timeout_s=TIMEOUT_S,
            max_in_flight=self._options.slots,
            max_attempts=2,
            backoff_s=0.1,
            echoes=True,
        )
        if self._connected is not None:
            self._earlier.append(self._connected[1])
        self._connected = (server, client)
        return self._connected

    def _start(self, dead: LlamaServer | None) -> LlamaServer:
        if not self._name:
            digest = verify_model(self._path) if self._pinned else file_digest(self._path)
            self._name = f"{re.sub(r'[^A-Za-z0-9._-]', '_', self._path.stem)}@{digest[:DIGEST_SHOWN]}"
        return server_for(self._path, self._name, self._options, dead=dead)


def _installed() -> Path:
    path = find_model()
    if path is None:
        raise ConfigError("The small model that `local` stands for is not installed.", do=SMOLLM2.install)
    return path
