"""What is asked of a model, and what it answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from groundwire.signals import canonical

__all__ = ["Backend", "Completion", "Message", "Request"]


class _Frozen(BaseModel):
    # built at first use: a graph without a model never needs these schemas
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Message(_Frozen):
    """One message of a chat."""

    role: Literal["system", "user", "assistant"]
    content: str


class Request(_Frozen):
    """One request to a model."""

    messages: tuple[Message, ...]
    n: int = 1
    """Samples wanted."""
    temperature: float = 0.0
    max_tokens: int = 2048
    """Tokens of each sample."""
    stop: tuple[str, ...] = ()
    seed: int | None = None
    json_schema: Mapping[str, Any] | None = None
    """JSON schema the reply must have; validated on our side too."""
    logprobs: bool = False
    priority: int = 0
    """Smaller is served first, by an engine that can; left out of what the ledger keeps where it is 0."""
    purpose: str = ""
    """`propose`, `correct` (the form of an answer) or `reflect`; not sent, kept in the ledger."""
    prompt_digest: str = ""
    """sha256 of the versioned prompt file that was used; not sent, kept in the ledger."""

    def canonical(self) -> str:
        """The canonical JSON; its sha256 is the request's digest."""
        return canonical(self.model_dump(mode="json", exclude=None if self.priority else {"priority"}))


class Completion(_Frozen):
    """A model's answer to one request."""

    texts: tuple[str, ...]
    """One text a sample."""
    model: str = ""
    """The id that the provider reports."""
    asked: str = ""
    """The id that was asked, as the user named it; the runtime writes it down (`Backend.model`)."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """Of all samples together."""
    usd: float | None = None
    """Price in US dollars; None where the price is unknown, 0.0 where it is free."""
    finish_reasons: tuple[str, ...] = ()
    logprobs: tuple[tuple[float, ...], ...] | None = None
    """Per sample, the log probability of each token, in nats."""
    attempts: int = 1
    """Requests that were sent to get it."""


class Backend(Protocol):
    """Something that completes requests. It owns its retries; nobody above it retries a model call."""

    @property
    def model(self) -> str:
        """The model id as the user named it."""
        ...

    async def complete(self, request: Request) -> Completion:
        """One request, `request.n` samples.

        Raises:
            ModelRejected: never worth another try.
            ModelRetryable: still failing after the bounded retries.
            ModelReplyInvalid: an answer that can't be read.
        """
        ...

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        """Several requests at once, answered in their order."""
        ...

    def price(self, request: Request) -> float | None:
        """The most that `request` can cost in US dollars, or None where the price is unknown."""
        ...
