"""What is asked of a model, of an embedder and of an engine, and what they answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Protocol, runtime_checkable

from pydantic import AfterValidator, BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from groundwire.core._signals import canonical
from groundwire.core._text import well_formed

# What is asked of a model, and what it answered.

OnText = Callable[[int, str], None]
"""Told of text as it is written: the index of the sample, and what was added to it. For people who watch; what counts
is the completion."""


class _Frozen(BaseModel):
    # built at first use: a graph without a model never needs these schemas
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    only_if_set: ClassVar[frozenset[str]] = frozenset()
    """Fields that are written down only where they say something: records from before they existed stay as they are."""

    @model_serializer(mode="wrap")
    def _without_what_was_not_set(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields, own = serialize(self), self.__dict__
        for name, default in _defaults(type(self)):
            if own[name] == default:
                fields.pop(name, None)
        return fields


@cache
def _defaults(kind: type[_Frozen]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, kind.model_fields[name].default) for name in sorted(kind.only_if_set))


class ToolSpec(_Frozen):
    """A tool that a model may ask for. Nothing here runs it."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = {"type": "object", "properties": {}}
    """JSON schema of its arguments; what a model gives is checked against it on our side."""


Written = Annotated[str, AfterValidator(well_formed)]
"""What a model wrote: it is paid for, so that no half of a character may keep it out of the ledger."""


class ToolCall(_Frozen):
    """A model's wish to use a tool: data, which whoever asked may act on. As hostile as any text of a model."""

    id: Written
    name: Written
    arguments: Written
    """A JSON object, as the model wrote it."""


class Message(_Frozen):
    """One message of a chat."""

    only_if_set = frozenset({"tool_calls", "answers"})

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """What an assistant's message asked for."""
    answers: str = ""
    """The id of the tool call whose result a tool's message holds."""


class SwitchPenalty(_Frozen):
    """Makes a model finish a thought before it begins another (TIP, arXiv 2501.18585): `penalty` is taken from the
    logits of words that switch, while fewer than `window` tokens have passed since the last switch.

    `vllm:` and `vllm-server:` can do so where the engine has `switch_penalty=true`. Other APIs know no window: give
    these `window=None` and `tokens`, which become a `logit_bias`.
    """

    words: tuple[str, ...] = ("alternatively",)
    """What says that another thought begins."""
    penalty: float = 3.0
    """α, in logits."""
    window: int | None = 600
    """β, in tokens; 0: no penalty at all; None: for the whole answer."""
    tokens: tuple[int, ...] = ()
    """Ids of the tokens that switch, in the model's own tokenizer; empty: found by the words."""


class Request(_Frozen):
    """One request to a model."""

    only_if_set = frozenset({"top_logprobs", "tools", "tool_choice", "priority", "switch_penalty"})

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
    top_logprobs: int = 0
    """Likeliest tokens at each place whose log probabilities are wanted too; needs `logprobs`."""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "required"] = "auto"
    """Whether the model may choose to use no tool; held on our side too."""
    priority: int = 0
    """Smaller is served first, by an engine that can."""
    switch_penalty: SwitchPenalty | None = None
    purpose: str = ""
    """`propose`, `correct` (the form of an answer) or `reflect`; not sent, kept in the ledger."""
    prompt_digest: str = ""
    """sha256 of the versioned prompt file that was used; not sent, kept in the ledger."""

    def canonical(self) -> str:
        """The canonical JSON; its sha256 is the request's digest."""
        return canonical(self.model_dump(mode="json"))


class Completion(_Frozen):
    """A model's answer to one request."""

    only_if_set = frozenset(
        {"top_logprobs", "tool_calls", "cached_prompt_tokens", "first_token_s", "thinking", "response_id"}
    )

    texts: tuple[Written, ...]
    """One text a sample, without what was thought before it."""
    model: str = ""
    """The id that the provider reports."""
    asked: str = ""
    """The id that was asked, as the user named it; the runtime writes it down (`Backend.model`)."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """Of all samples together, and of attempts that failed, as far as these were counted."""
    usd: float | None = None
    """Price in US dollars; None where the price is unknown, 0.0 where it is free."""
    finish_reasons: tuple[Written, ...] = ()
    logprobs: tuple[tuple[float, ...], ...] | None = None
    """Per sample, the log probability of each token, in nats."""
    attempts: int = 1
    """Requests that were sent to get it."""
    top_logprobs: tuple[tuple[tuple[float, ...], ...], ...] | None = None
    """Per sample and token, the log probabilities of the likeliest tokens there, in nats, highest first."""
    tool_calls: tuple[tuple[ToolCall, ...], ...] = ()
    """Per sample; empty where no sample holds any."""
    cached_prompt_tokens: int = 0
    """Of the prompt's tokens, those that the provider took from its cache."""
    first_token_s: float | None = None
    """Seconds from the sending of the request to its first token; None where it was not streamed."""
    thinking: tuple[Written, ...] = ()
    """Per sample, what it thought, without marks; empty where no sample's thinking is known."""
    response_id: str = ""
    """The provider's own id of the answer; empty where it gives none, or where several requests were needed."""


_MADE_OF = re.compile(r"made of samples? (\d{1,6}(?:, \d{1,6})*)")


def made_of_samples(samples: Sequence[int]) -> str:
    """A candidate's note that says which samples of its actor's one call it was made of, counted from 0."""
    return f"made of sample{'s' if len(samples) > 1 else ''} {', '.join(map(str, samples))}"


def samples_in(note: str) -> tuple[int, ...]:
    """The samples that such a note names; none where it is another one."""
    match = _MADE_OF.fullmatch(note)
    return tuple(map(int, match[1].split(", "))) if match else ()


@runtime_checkable
class Backend(Protocol):
    """Something that completes requests. It owns its retries; nobody above it retries a model call.

    What it can do besides, it declares in an attribute `traits: BackendTraits` (`groundwire.core._traits`).
    """

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


@runtime_checkable
class Streaming(Protocol):
    """A backend that can show its answer while it is written. It is the same answer."""

    async def stream(self, request: Request, on_text: OnText) -> Completion:
        """As `Backend.complete`, and tells `on_text` of each piece of text.

        A request that failed half-way is sent again: then the text of a sample begins anew, with a piece that is empty.
        """
        ...


@runtime_checkable
class Readiness(Protocol):
    """A backend that can say, without a call, that a call of it could only fail."""

    def check_ready(self) -> None:
        """Raises ConfigError where something is missing that the user has to give: a provider's name, a key."""
        ...


# What turns texts into vectors that are near where the texts mean the same; `groundwire.models` has one.


@runtime_checkable
class Reranker(Protocol):
    """A model that says how relevant passages are to a query. Whoever made it pays for it, and owns its retries."""

    @property
    def name(self) -> str:
        """Of the model, for people."""
        ...

    async def rerank(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """One score a passage, 0 to 1, in their order.

        Raises:
            ModelError: it can't be done.
        """
        ...


@runtime_checkable
class Embedder(Protocol):
    """A model that embeds texts. Whoever made it closes it, pays for it, and owns its retries."""

    @property
    def name(self) -> str:
        """Of the model, for people."""
        ...

    @property
    def revision(self) -> str:
        """Digest of all that its vectors depend on: vectors of two revisions are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """Numbers in a vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text, in their order. A text's vector does not depend on the texts beside it.

        Args:
            texts: any texts; what is longer than the model reads is cut.

        Raises:
            ModelError: it can't be done.
            ConfigError: what it needs is not installed.
        """
        ...


# How busy a model engine of one's own is: what lets a batch run as many episodes as keep it so, and no more.


current_asker: ContextVar[tuple[str, str] | None] = ContextVar("groundwire_asker", default=None)
"""Ids of the episode that asks and of its task, for what spreads requests over several engines; never sent."""


@dataclass(frozen=True)
class Load:
    """How busy an engine is at one moment.

    Args:
        running: samples that are being generated.
        waiting: samples that were sent and wait for their turn.
        capacity: samples that it generates at once at most.
    """

    running: int
    waiting: int
    capacity: int


@runtime_checkable
class ReportsLoad(Protocol):
    """A backend that knows how busy its engine is."""

    def load(self) -> Load:
        """How busy it is now. Cheap: it is asked after every call."""
        ...
