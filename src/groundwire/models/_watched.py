"""A model that is listened to while it writes, and interrupted where what it has written is enough."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from groundwire.core._models import Backend, Completion, Request, Streaming
from groundwire.core._prompt_text import estimate_tokens
from groundwire.core._reasoning_text import split_thinking, without_thinking
from groundwire.models._chat import all_of

CUT = "cut"
"""The finish reason of an answer that was interrupted."""

Watch = Callable[[str], bool]
"""Given all that was written so far but thinking, True where that is enough."""


class WatchedBackend:
    """Another backend, whose answer is cut off as soon as `watch` says so. One sample a request.

    A backend that can't stream answers as a whole; cutting is then left to whoever reads it. Tokens of an answer that
    was cut are estimated, since no provider counts them for us.

    Args:
        backend: what answers.
        watch: asked after each piece.
    """

    def __init__(self, backend: Backend, watch: Watch) -> None:
        self._backend = backend
        self._watch = watch

    @property
    def model(self) -> str:
        """See `Backend`."""
        return self._backend.model

    def price(self, request: Request) -> float | None:
        """See `Backend`."""
        return self._backend.price(request)

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        """See `Backend`."""
        return await all_of([self.complete(request) for request in requests])

    async def complete(self, request: Request) -> Completion:
        """See `Backend`. The finish reason of what was interrupted is `cut`."""
        backend: Any = self._backend
        if not isinstance(backend, Streaming):
            return await self._backend.complete(request)
        heard = _Heard(self._watch)
        heard.writing = asyncio.ensure_future(backend.stream(request, heard.take))
        try:
            return await heard.writing
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if not heard.enough or (this is not None and this.cancelling()):
                raise
        written = estimate_tokens(heard.text)
        thought, text = split_thinking(heard.text)
        return Completion(
            texts=(text,),
            thinking=(thought,) if thought else (),
            model=self.model,
            prompt_tokens=sum(estimate_tokens(m.content) for m in request.messages),
            completion_tokens=written,
            usd=self.price(request.model_copy(update={"max_tokens": max(1, written)})),
            finish_reasons=(CUT,),
        )


class _Heard:
    """What was written so far; interrupts when it is enough."""

    def __init__(self, watch: Watch) -> None:
        self.text = ""
        self.enough = False
        self.writing: asyncio.Future[Completion] | None = None
        self._watch = watch

    def take(self, _sample: int, piece: str) -> None:
        self.text = self.text + piece if piece else ""
        if not self.enough and self._watch(without_thinking(self.text)) and self.writing is not None:
            self.enough = True
            self.writing.cancel()
