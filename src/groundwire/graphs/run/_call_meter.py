"""Model calls that LangChain makes, as calls of an episode: reserved before they are sent, and booked when answered.

LangChain tells of each call before it is sent (`on_chat_model_start`) and when it has its answer. The first asks the
budget, and a refusal ends the call before it was made; the second books what the provider counted.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from groundwire.core._contexts import ModelCaller
from groundwire.core._errors import ConfigError, GroundwireError, ModelError, ModelRejected
from groundwire.core._models import Backend, Completion, Message, Request, ToolCall
from groundwire.core._prompt_text import estimate_tokens
from groundwire.core._signals import canonical
from groundwire.models._prices import Rates, prompt_tokens_bound

UsdPerToken: TypeAlias = "tuple[float, float] | Mapping[str, tuple[float, float]]"
"""Prices of prompt and completion, of all models or by a model's name."""


@dataclass(frozen=True)
class Prices:
    given: UsdPerToken | None

    def of(self, model: str) -> Rates | None:
        given = self.given
        if isinstance(given, Mapping):
            return Rates.given(given.get(model))
        return Rates.given(given)


@dataclass
class _Foreign:
    """The `Backend` of a call that somebody else makes: it waits for what they were answered."""

    model: str
    rates: Rates | None
    sent: asyncio.Event = field(default_factory=asyncio.Event)
    answer: asyncio.Future[Completion] | None = None

    async def complete(self, request: Request) -> Completion:
        self.answer = asyncio.get_running_loop().create_future()
        self.sent.set()
        return await self.answer

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        return [await self.complete(request) for request in requests]

    def price(self, request: Request) -> float | None:
        return self.rates and self.rates.usd(prompt_tokens_bound(request), request.n * request.max_tokens)


@dataclass
class _Open:
    backend: _Foreign
    request: Request
    call: asyncio.Task[Completion]


class CallMeter(BaseCallbackHandler):
    """Makes each model call of a LangChain run one of an episode's. LangChain tells it in threads of its own, so that
    it may wait for the budget there.

    Args:
        call: the episode's.
        prices: of the models.
        max_tokens: where a model does not say what it may write.
    """

    raise_error = True  # a refusal of the budget has to reach whoever calls
    run_inline = False

    def __init__(self, call: ModelCaller, prices: Prices, max_tokens: int) -> None:
        self._call = call
        self._prices = prices
        self._max_tokens = max_tokens
        self._loop = asyncio.get_running_loop()
        self._open: dict[UUID, _Open] = {}
        self._asked: list[str] = []
        self._failure: tuple[BaseException, GroundwireError] | None = None

    @property
    def asked(self) -> str:
        """The requests that were sent, one a line, each with its model."""
        return "\n".join(self._asked)

    def cause_of(self, error: Exception) -> Exception:
        """What an error of the graph is to the episode: a model's, where a model's call raised it."""
        if self._failure is not None and self._failure[0] is error:
            return self._failure[1]
        return error

    async def aclose(self) -> None:
        """Ends what nobody will tell the end of."""
        calls = [one.call for one in self._open.values()]
        self._open.clear()
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """A chat is about to be sent."""
        self._wait(self._begin(run_id, tuple(_message(m) for chat in messages for m in chat), kwargs))

    def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], *, run_id: UUID, **kwargs: Any) -> None:
        """A text is about to be sent."""
        self._wait(self._begin(run_id, tuple(Message(role="user", content=p) for p in prompts), kwargs))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """It was answered."""
        self._wait(self._end(run_id, response))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """It failed."""
        self._wait(self._fail(run_id, error))

    def _wait(self, work: Any) -> None:
        try:
            inside = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            inside = False
        if inside:
            work.close()
            raise ConfigError(
                "A node that is async calls a model without await, which holds up everything else.",
                do="Use  await model.ainvoke(…)  there, or make the node a plain def.",
            )
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _begin(self, run_id: UUID, messages: tuple[Message, ...], told: Mapping[str, Any]) -> None:
        request, model = self._request(run_id, messages, told)
        backend = _Foreign(model, self._prices.of(model))
        asked: Backend = backend
        call = self._loop.create_task(self._coroutine(asked, request))
        sent = self._loop.create_task(backend.sent.wait())
        await asyncio.wait({call, sent}, return_when=asyncio.FIRST_COMPLETED)
        sent.cancel()
        if call.done():
            call.result()  # the budget's refusal, or the firewall's
        self._asked.append(json.dumps([model, request.model_dump(mode="json")]))
        self._open[run_id] = _Open(backend, request, call)

    async def _coroutine(self, backend: Backend, request: Request) -> Completion:
        return await self._call(backend, request)

    async def _end(self, run_id: UUID, response: LLMResult) -> None:
        one = self._open.pop(run_id, None)
        if one is None or one.backend.answer is None or one.backend.answer.done():
            return
        one.backend.answer.set_result(_completion(response, one))
        await one.call

    async def _fail(self, run_id: UUID, error: BaseException) -> None:
        one = self._open.pop(run_id, None)
        if one is None or one.backend.answer is None or one.backend.answer.done():
            return
        failure = ModelRejected(
            f"{one.backend.model} failed inside the graph: {type(error).__name__}: {error!s:.300}",
            do="The graph calls it by itself: look at its model's settings.",
        )
        self._failure = (error, failure)
        one.backend.answer.set_exception(failure)
        await asyncio.gather(one.call, return_exceptions=True)

    def _request(self, run_id: UUID, messages: tuple[Message, ...], told: Mapping[str, Any]) -> tuple[Request, str]:
        given: Mapping[str, Any] = told.get("invocation_params") or {}
        about: Mapping[str, Any] = told.get("metadata") or {}
        most = given.get("max_tokens") or given.get("max_completion_tokens") or about.get("ls_max_tokens")
        temperature = given.get("temperature", about.get("ls_temperature"))
        model = given.get("model") or given.get("model_name") or about.get("ls_model_name") or given.get("_type")
        request = Request(
            messages=messages,
            n=given.get("n") or 1,
            max_tokens=int(most) if most else self._max_tokens,
            temperature=float(temperature) if temperature is not None else 0.0,
            # of its own for each: no answer of the ledger may stand for a call that is made anyway
            seed=run_id.int & (2**63 - 1),
            purpose="propose",
        )
        return request, str(model or "model")


def _message(message: BaseMessage) -> Message:
    roles = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
    calls = tuple(
        ToolCall(id=call.get("id") or "", name=call["name"], arguments=canonical(call["args"]))
        for call in getattr(message, "tool_calls", ())
    )
    return Message.model_validate(
        {
            "role": roles.get(message.type, "user"),
            "content": str(message.text),
            "tool_calls": calls,
            "answers": getattr(message, "tool_call_id", "") or "",
        }
    )


def _completion(response: LLMResult, one: _Open) -> Completion:
    generations: list[Any] = [g for several in response.generations for g in several]
    messages = [getattr(g, "message", None) for g in generations]
    found = (getattr(message, "usage_metadata", None) for message in messages)
    counted: Mapping[str, Any] = next((usage for usage in found if usage), None) or {}
    told: Mapping[str, Any] = (response.llm_output or {}).get("token_usage") or {}
    prompt: int | None = counted.get("input_tokens") or told.get("prompt_tokens")
    written: int | None = counted.get("output_tokens") or told.get("completion_tokens")
    if prompt is None:
        prompt = sum(estimate_tokens(message.content) for message in one.request.messages)
    if written is None:
        written = sum(estimate_tokens(str(g.text)) for g in generations)
    details: Mapping[str, Any] = counted.get("input_token_details") or {}
    calls = tuple(_message(m).tool_calls for m in messages if isinstance(m, BaseMessage))
    rates = one.backend.rates
    return Completion(
        texts=tuple(str(g.text) for g in generations),
        model=str((response.llm_output or {}).get("model_name") or one.backend.model),
        prompt_tokens=prompt,
        completion_tokens=written,
        cached_prompt_tokens=details.get("cache_read") or 0,
        usd=rates and rates.usd(prompt, written),
        tool_calls=calls if any(calls) else (),
    )


# The calls of a run that is not made again, in a replay.


async def play_back(call: ModelCaller, asked: str) -> None:
    """Asks the ledger for the calls of a run that is not made again, so that a replay accounts for them too."""
    for line in asked.splitlines():
        try:
            model, request = json.loads(line)
            await call(_NobodyAsked(model), Request.model_validate(request))
        except ModelError:
            continue  # it failed then, and the graph went on


@dataclass(frozen=True)
class _NobodyAsked:
    """Stands where a backend is asked for: the ledger answers."""

    model: str

    async def complete(self, request: Request) -> Completion:
        raise ModelRejected("The ledger holds no answer to a call of a run that is not made again.")

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        return [await self.complete(request) for request in requests]

    def price(self, request: Request) -> float | None:
        return 0.0
