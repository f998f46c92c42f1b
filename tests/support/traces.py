"""A model whose tokens have the confidences that a test gives them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sample_numbers import number_of

from groundwire.core._models import Completion, Request
from groundwire.models._chat import all_of

Trace = tuple[str, Sequence[float]]
"""The answer, and the confidence of each token."""


class Traces:
    """Plays traces by the request's seed; a token's confidence c is one alternative of log probability −c."""

    model = "traces"

    def __init__(self, trace: Callable[[int], Trace], *, streams: bool = True) -> None:
        self._trace = trace
        self.written = 0
        """Tokens."""
        self.calls = 0
        if streams:
            self.stream_while = self._stream_while

    async def complete(self, request: Request) -> Completion:
        return self._played(request, lambda _top: True)

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        return await all_of([self.complete(request) for request in requests])

    def price(self, request: Request) -> float | None:
        return 0.0

    async def _stream_while(
        self, request: Request, watch: Callable[[], Callable[[Sequence[float]], bool]]
    ) -> Completion:
        return self._played(request, watch())

    def _played(self, request: Request, goes_on: Callable[[Sequence[float]], bool]) -> Completion:
        assert request.top_logprobs == 20 and request.logprobs
        self.calls += 1
        text, confidences = self._trace(number_of(request))
        written = 0
        for confidence in confidences:
            written += 1
            if not goes_on((-confidence,)):
                break
        killed = written < len(confidences)
        self.written += written
        return Completion(
            texts=("" if killed else f"ANSWER: {text}",),
            model=self.model,
            prompt_tokens=1,
            completion_tokens=written,
            finish_reasons=("killed" if killed else "stop",),
            top_logprobs=(tuple((-c,) for c in confidences[:written]),),
        )
