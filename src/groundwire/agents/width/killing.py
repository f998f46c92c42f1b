"""A backend that ends a trace as soon as its confidence falls, so that the engine's slot is free at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from groundwire.agents.backends.openai_compatible import KILLED, GoesOn
from groundwire.agents.backends.replies import all_of
from groundwire.agents.width.confidence import RunningGroup, token_confidence
from groundwire.completions import Backend, Completion, Request

__all__ = ["KILLED", "KillBelow", "StreamsProbabilities"]


@runtime_checkable
class StreamsProbabilities(Protocol):
    """A backend that shows its tokens' probabilities while it writes, and stops when told to."""

    async def stream_while(self, request: Request, watch: Callable[[], GoesOn]) -> Completion:
        """As `Backend.complete` for one sample.

        Args:
            request: asks for `top_logprobs` and for one sample.
            watch: makes, for each attempt, what is told of each token's likeliest log probabilities, highest first.
                Where that says False the connection is closed, and the completion holds what has come, with the finish
                reason `killed`.
        """
        ...


class KillBelow:
    """Ends a trace when the mean confidence of its last `window` tokens is below `threshold`.

    Args:
        backend: what completes; one that can't show probabilities as it writes lets every trace end by itself.
        threshold: of a group's confidence.
        window: tokens of a group.
    """

    def __init__(self, backend: Backend, threshold: float, window: int) -> None:
        self._backend = backend
        self._threshold = threshold
        self._window = window

    @property
    def model(self) -> str:
        """See `Backend`."""
        return self._backend.model

    async def complete(self, request: Request) -> Completion:
        """See `Backend`."""
        if not isinstance(self._backend, StreamsProbabilities):
            return await self._backend.complete(request)
        return await self._backend.stream_while(request, self._watch)

    def _watch(self) -> GoesOn:
        group = RunningGroup(self._window)

        def goes_on(top: Sequence[float]) -> bool:
            mean = group.add(token_confidence(top))
            return mean is None or mean >= self._threshold

        return goes_on

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        """See `Backend`."""
        return await all_of([self.complete(request) for request in requests])

    def price(self, request: Request) -> float | None:
        """See `Backend`."""
        return self._backend.price(request)
