"""Any provider through LiteLLM: `openai/gpt-5-mini`, `anthropic/…`, `ollama/…`, or a server of one's own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from groundwire.agents.backends.faults import missing_keys, to_model_error
from groundwire.agents.backends.guard import check_model_calls
from groundwire.agents.backends.library import close_clients, load_litellm, loaded_litellm
from groundwire.agents.backends.prices import PriceList, Rates, prompt_tokens_bound
from groundwire.agents.backends.replies import all_of, merged, split
from groundwire.agents.backends.responses import read_response
from groundwire.agents.backends.retries import Retries
from groundwire.completions import Completion, Request
from groundwire.errors import ConfigError

__all__ = ["LiteLLMBackend"]


NO_KEY = "no-key"
"""Sent to a server of one's own where no key is set: the clients refuse to send nothing."""


class LiteLLMBackend:
    """A model behind LiteLLM. LiteLLM is imported when the first call is made or priced.

    Requests in flight are bounded by a semaphore of our own, and retries have one owner, here; LiteLLM's own limits
    reject instead of queueing and its retries multiply, so both are off.

    Args:
        model: LiteLLM's id, `provider/model`.
        usd_per_token: (prompt, completion) price in US dollars a token; wins over LiteLLM's price list, and is needed
            under a money budget for a model the list does not have. `(0, 0)`: free.
        timeout_s: seconds that one attempt may take in all.
        max_attempts: requests sent at most for one answer.
        max_in_flight: requests in flight at once, over all callers of this backend.
        api_base: address of the API, for an OpenAI-compatible server of one's own (with its `/v1`).
        api_key: the key; default: from the environment variable of the provider.
        backoff_s: seconds; the top of the first random wait between attempts.
        max_wait_s: seconds; the longest wait between attempts.
        name: what the user calls the model, for messages; default: `model`.
        echoes: True if the server gives an answer that was begun (a last message of the assistant) back as a whole.

    Raises:
        ConfigError: an argument is out of range.
    """

    def __init__(
        self,
        model: str,
        *,
        usd_per_token: tuple[float, float] | None = None,
        timeout_s: float = 120.0,
        max_attempts: int = 4,
        max_in_flight: int = 16,
        api_base: str | None = None,
        api_key: str | None = None,
        backoff_s: float = 1.0,
        max_wait_s: float = 60.0,
        name: str | None = None,
        echoes: bool = False,
    ) -> None:
        if not timeout_s > 0 or max_in_flight < 1:
            raise ConfigError(
                f"timeout_s is {timeout_s} and max_in_flight is {max_in_flight}.",
                do="Use more than 0 seconds and at least 1 request in flight.",
            )
        if usd_per_token is not None and not all(0 <= usd < float("inf") for usd in usd_per_token):
            raise ConfigError(f"usd_per_token is {usd_per_token}.", do="Give two prices of 0 or more.")
        self._model = model
        self._name = name or model
        self._prices = PriceList(model, api_base, None if usd_per_token is None else Rates(*usd_per_token))
        self._timeout_s = timeout_s
        self._retries = Retries(max_attempts, backoff_s, max_wait_s)
        self._max_in_flight = max_in_flight
        self._api_base = api_base
        self._echoes = echoes
        self._api_key = api_key
        # one for each event loop: a semaphore can't be shared by loops, and sync callers start one a call
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"LiteLLMBackend({self._model!r})"

    @property
    def model(self) -> str:
        """See `Backend`."""
        return self._name

    async def complete(self, request: Request) -> Completion:
        """See `Backend`.

        Samples are asked for in one request where the provider can, else in `n` requests at once. Where it returns
        fewer than `n`, or some don't hold to the schema, there are fewer texts than `n`, never none. Settings that a
        provider does not have (seed, logprobs, a fixed temperature) are left out.

        Raises:
            ModelRejected, ModelRetryable, ModelReplyInvalid: see `Backend`.
            ConfigError: LiteLLM is not installed.
        """
        check_model_calls(self._name)
        litellm = await loaded_litellm()
        if request.n == 1 or self._samples_at_once(litellm):
            return await self._answer(litellm, request)
        return merged(await all_of([self._answer(litellm, single) for single in split(request, 1)]))

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        """See `Backend`. If one fails, the others are cancelled and its error is raised."""
        return await all_of([self.complete(request) for request in requests])

    def price(self, request: Request) -> float | None:
        """See `Backend`. Counts every byte of the prompt as a token and every sample as `max_tokens` long.

        One answered attempt is priced: what a provider may bill for an attempt that we gave up on is not known.
        """
        if self._prices.given:  # no need to load LiteLLM
            rates, at_once = self._prices.given, False
        else:
            litellm = load_litellm()
            rates, at_once = self._prices.rates(litellm), self._samples_at_once(litellm)
        if rates is None:
            return None
        requests = 1 if at_once else request.n
        prompt = rates.usd(prompt_tokens_bound(request), 0) * requests
        return prompt + rates.completion * request.max_tokens * request.n

    async def aclose(self) -> None:
        """Closes LiteLLM's HTTP clients, which all its users in this process share; a later call opens new ones."""
        await close_clients()

    async def _answer(self, litellm: Any, request: Request) -> Completion:
        response, attempts = await self._retries.run(lambda: self._send(litellm, request))
        begun = request.messages[-1].content if self._echoes and _is_begun(request) else ""
        return read_response(
            response, request, model=self._name, attempts=attempts, prices=self._prices, litellm=litellm, begun=begun
        )

    async def _send(self, litellm: Any, request: Request) -> Any:
        slots = self._slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._max_in_flight))
        async with slots:
            try:
                # httpx bounds each read; a server that dribbles would never be late without the deadline around it
                async with asyncio.timeout(self._timeout_s):
                    return await litellm.acompletion(**self._arguments(litellm, request))
            except Exception as error:
                fault = to_model_error(
                    error, litellm, model=self._name, api_key=self._api_key, timeout_s=self._timeout_s
                )
        # raised out here so that no traceback shows the library's error, whose text or request may hold the key
        raise fault

    def _arguments(self, litellm: Any, request: Request) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "timeout": self._timeout_s,
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": True,
        }
        if request.n > 1:
            arguments["n"] = request.n
        if request.stop:
            arguments["stop"] = list(request.stop)
        if request.seed is not None:
            arguments["seed"] = request.seed
        if request.logprobs:
            arguments["logprobs"] = True
        if request.json_schema is not None:
            arguments["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": dict(request.json_schema)},
            }
        if self._api_base:
            arguments["api_base"] = self._api_base
        key = self._key(litellm)
        if key:
            arguments["api_key"] = key
        return arguments

    def _samples_at_once(self, litellm: Any) -> bool:
        try:
            return "n" in (litellm.get_supported_openai_params(self._model) or ())
        except Exception:  # unknown provider: the call itself says so
            return False

    def _key(self, litellm: Any) -> str | None:
        if self._api_key or not self._api_base:
            return self._api_key
        return NO_KEY if missing_keys(litellm, self._model) else None


def _is_begun(request: Request) -> bool:
    return bool(request.messages) and request.messages[-1].role == "assistant"
