"""Any provider through LiteLLM: `openai/gpt-5-mini`, `anthropic/…`, `ollama/…`; or several of them in turn."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import count
from typing import Any, cast

from groundwire.core._errors import ConfigError, ModelError, ModelRejected, ModelRetryable
from groundwire.core._models import Completion, OnText, Request
from groundwire.core._traits import BackendTraits
from groundwire.models._chat import all_of, chat_body, is_begun, merged, split, with_attempts
from groundwire.models._faults import unreachable
from groundwire.models._guard import check_model_calls
from groundwire.models._http_client import read_body
from groundwire.models._library import close_clients, load_litellm, loaded_litellm
from groundwire.models._litellm_faults import is_answered, missing_keys, timeout_of, to_model_error, unread_body
from groundwire.models._litellm_raw import Raw, Tee
from groundwire.models._prices import PriceList, Rates, prompt_tokens_bound
from groundwire.models._responses import has_usage, read_response, usage_of
from groundwire.models._retries import Retries
from groundwire.models._slots import PerLoop, Slots
from groundwire.models._streams import Assembly

# Tells a provider which part of a prompt to keep, where it wants to be told.
#
# OpenAI, DeepSeek, vLLM and llama.cpp cache the beginning of a prompt by themselves. Anthropic's models (there, on
# Bedrock, on Vertex AI and through OpenRouter) cache what a `cache_control` mark ends; LiteLLM passes it on.

MARK = {"cache_control": {"type": "ephemeral"}}
CONVERSATION = 3
"""Messages from which on a prompt is a conversation, whose next request begins with this one."""


def wants_hints(litellm: Any, model: str) -> bool:
    """True for a model that caches only what is marked."""
    if "claude" not in model.lower() and not model.startswith("anthropic/"):
        return False
    try:
        return bool(litellm.utils.supports_prompt_caching(model))
    except Exception:  # unknown model: no hint is no harm
        return False


def with_hints(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with marks at the end of what comes again: the system's part, and a conversation so far."""
    hinted = list(messages)
    system = [i for i, message in enumerate(messages) if message["role"] == "system"]
    last = len(messages) - 1
    for i in {*system[-1:], *([last] if len(messages) > CONVERSATION and messages[last]["role"] == "user" else [])}:
        text = cast("str", messages[i]["content"])
        if text:
            hinted[i] = {**messages[i], "content": [{"type": "text", "text": text, **MARK}]}
    return hinted


# Several models behind one backend: LiteLLM's own Router picks the first that is not cooling down.
#
# The Router falls back by itself too, and then nobody counts the requests. So each call of it may send one request
# only, a failure puts that model into its cooldown, and the one owner of retries (`Retries`) sends again: to the next
# model.

GROUP = "groundwire"


class Fallbacks:
    """Models in the order in which they are asked.

    Args:
        models: LiteLLM's ids, the preferred one first.
        first: arguments for the preferred one alone: its address and key.
        cooldown_s: seconds for which a model that failed is not asked; longer where its provider says so.
    """

    def __init__(self, models: Sequence[str], first: Mapping[str, Any], cooldown_s: float) -> None:
        self._models = models
        self._first = first
        self._cooldown_s = cooldown_s
        self._routers: PerLoop[Any] = PerLoop(self._router)

    async def acompletion(self, litellm: Any, **arguments: Any) -> Any:
        """One request to one model.

        Raises:
            ModelRetryable: all of them are cooling down; nothing was sent.
            Exception: whatever LiteLLM raises for that request.
        """
        try:
            return await self._routers.here().acompletion(**{**arguments, "model": GROUP}, disable_fallbacks=True)
        except litellm.types.router.RouterRateLimitError as error:
            raise ModelRetryable(
                f"Each of {', '.join(self._models)} has failed a moment ago and is left alone for now.",
                do="Try again later, or add another model.",
                retry_after_s=float(getattr(error, "cooldown_time", self._cooldown_s)),
            ) from None

    def which(self, response: Any) -> int:
        """The index of the model that gave `response`."""
        hidden: Any = getattr(response, "_hidden_params", None) or {}
        known = str(hidden.get("model_id", "")) if hasattr(hidden, "get") else ""
        return int(known) if known.isdecimal() and int(known) < len(self._models) else 0

    def _router(self) -> Any:
        return load_litellm().Router(
            model_list=[self._deployment(i, model) for i, model in enumerate(self._models)],
            num_retries=0,
            allowed_fails=0,
            cooldown_time=self._cooldown_s,
        )

    def _deployment(self, index: int, model: str) -> dict[str, Any]:
        parameters = {"model": model, "order": index + 1, "max_retries": 0, **(self._first if index == 0 else {})}
        return {"model_name": GROUP, "litellm_params": parameters, "model_info": {"id": str(index)}}


# Any provider through LiteLLM: `openai/gpt-5-mini`, `anthropic/…`, `ollama/…`, or a server of one's own.

NO_KEY = "no-key"
"""Sent to a server of one's own where no key is set: the clients refuse to send nothing."""
COOLDOWN_S = 30.0


@dataclass(frozen=True)
class _Answer:
    """What LiteLLM gave for one request.

    Args:
        response: its object, or JSON where it was put together from chunks.
        which: the index of the model that gave it.
        first_token_s: seconds to the first token, where it was streamed.
    """

    response: Any
    which: int = 0
    first_token_s: float | None = None


def _key_missing(litellm: Any, model: str, provider: str) -> str:
    """The environment variable that has to hold the provider's key and is not set; empty where nothing is sure.

    A provider has other ways to let one in (a token, an address of one's own), by variables that begin with its name.
    """
    if _has_another_way(provider):
        return ""
    variable = f"{provider.upper()}_API_KEY"
    return variable if missing_keys(litellm, model) == [variable] else ""


def _has_another_way(provider: str) -> bool:
    ways = (f"{provider.upper()}_{way}" for way in ("BASE_URL", "API_BASE", "AUTH_TOKEN", "AD_TOKEN"))
    return any(os.environ.get(way) for way in ways)


_KEYS = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "openrouter": ("OPENROUTER_API_KEY", "OR_API_KEY"),
    "mistral": ("MISTRAL_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
"""By provider, the variables that may hold its key: of the best known alone. LiteLLM knows all and takes seconds to
load; where it is loaded already, or reads variables from a file (`LITELLM_MODE=DEV`), it is asked itself."""


def _key_surely_missing(model: str) -> str:
    """The variable that has to hold the key of a well-known provider's model; empty where LiteLLM has to be asked."""
    provider, slash, _ = model.partition("/")
    names = _KEYS.get(provider, ()) if slash else ()
    if not names or _has_another_way(provider) or any(os.environ.get(name) for name in names):
        return ""
    if "litellm" in sys.modules or os.environ.get("LITELLM_MODE", "").upper() == "DEV" or not find_spec("litellm"):
        return ""
    return names[0]


def _needs_key(model: str, variable: str) -> ConfigError:
    return ConfigError(f"{model} needs a key, and {variable} is not set.", do=f"Set it:  export {variable}=…")


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
        fallbacks: models that are asked, in this order, while those before them fail for a while (rate limits, trouble
            at the provider); `api_base` and `api_key` are the first model's.
        cooldown_s: seconds for which a model that failed is left alone, where there are fallbacks.

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
        fallbacks: Sequence[str] = (),
        cooldown_s: float = COOLDOWN_S,
    ) -> None:
        self._models = (model, *fallbacks)
        self._name = name or ",".join(self._models)
        rates = Rates.given(usd_per_token)
        self._prices = [PriceList(id_, None if i else api_base, rates) for i, id_ in enumerate(self._models)]
        # each model is asked once before the first is asked again
        self._retries = Retries(
            max(max_attempts, len(self._models)) if fallbacks else max_attempts, backoff_s, max_wait_s
        )
        self._slots = Slots(max_in_flight, timeout_s)
        self._api_base = api_base
        self._api_key = api_key
        if echoes:
            self.traits = BackendTraits(continues=True)
        self._echoes = echoes
        first = {"api_base": api_base, "api_key": api_key}
        own = {name: value for name, value in first.items() if value}
        self._fallbacks = Fallbacks(self._models, own, cooldown_s) if fallbacks else None

    def __repr__(self) -> str:
        return f"LiteLLMBackend({self._name!r})"

    @property
    def model(self) -> str:
        """See `Backend`."""
        return self._name

    def check_ready(self) -> None:
        """See `Readiness`. Nothing is sent.

        Raises:
            ConfigError: LiteLLM is not installed, knows no provider of a model, or its provider's key is not set.
        """
        given = [(self._api_base, self._api_key), *[(None, None)] * len(self._models[1:])]
        for model, (base, key) in zip(self._models, given, strict=True):
            if not (key or base) and (variable := _key_surely_missing(model)):
                raise _needs_key(model, variable)
        litellm = load_litellm()
        for model, (base, key) in zip(self._models, given, strict=True):
            try:
                _, provider, _, _ = litellm.get_llm_provider(model, api_base=base)
            except Exception:  # whatever class: each version has its own
                raise ConfigError(
                    f"LiteLLM knows no provider of the model {model!r}.",
                    do="Write PROVIDER/MODEL, for example openai/gpt-5-mini; for a server of your own"
                    " openai-compatible:URL#MODEL.",
                ) from None
            if not (key or base) and (variable := _key_missing(litellm, model, str(provider))):
                raise _needs_key(model, variable)

    async def complete(self, request: Request) -> Completion:
        """See `Backend`.

        Samples are asked for in one request where the provider can, else in `n` requests at once. Where it returns
        fewer than `n`, or some don't hold to the schema, there are fewer texts than `n`, never none. Settings that a
        provider does not have (seed, logprobs, a fixed temperature) are left out.

        Raises:
            ModelRejected, ModelRetryable, ModelReplyInvalid: see `Backend`.
            ConfigError: LiteLLM is not installed.
        """
        return await self._complete(request, None)

    async def stream(self, request: Request, on_text: OnText) -> Completion:
        """See `Streaming`. Several samples are told of when they are there, since LiteLLM loses how some of them ended.

        Raises:
            ModelRejected, ModelRetryable, ModelReplyInvalid, ConfigError: as `complete`.
        """
        if request.n == 1:
            return await self._complete(request, on_text)
        completion = await self._complete(request, None)
        for index, text in enumerate(completion.texts):
            on_text(index, text)
        return completion

    async def _complete(self, request: Request, on_text: OnText | None) -> Completion:
        check_model_calls(self._name)
        litellm = await loaded_litellm()
        if request.n == 1 or self._samples_at_once(litellm):
            return await self._answer(litellm, request, on_text)
        return merged(await all_of([self._answer(litellm, single, None) for single in split(request, 1)]))

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        """See `Backend`. If one fails, the others are cancelled and its error is raised."""
        return await all_of([self.complete(request) for request in requests])

    def price(self, request: Request) -> float | None:
        """See `Backend`. Counts every byte of the prompt as a token and every sample as `max_tokens` long.

        One answered attempt is priced: what a provider may bill for an attempt that we gave up on is not known.
        """
        if self._prices[0].given:  # no need to load LiteLLM
            known, at_once = [self._prices[0].given], False
        else:
            litellm = load_litellm()
            known, at_once = [prices.rates(litellm) for prices in self._prices], self._samples_at_once(litellm)
        requests = 1 if at_once else request.n
        most = 0.0
        for rates in known:
            if rates is None:
                return None
            prompt = rates.usd(prompt_tokens_bound(request), 0) * requests
            most = max(most, prompt + rates.completion * request.max_tokens * request.n)
        return most

    async def aclose(self) -> None:
        """Closes LiteLLM's HTTP clients, which all its users in this process share; a later call opens new ones."""
        await close_clients()

    async def _answer(self, litellm: Any, request: Request, on_text: OnText | None) -> Completion:
        tries = count()
        retried = await self._retries.run(lambda: self._send(litellm, request, on_text, again=next(tries) > 0))
        return with_attempts(retried)

    async def _send(self, litellm: Any, request: Request, on_text: OnText | None, *, again: bool) -> Completion:
        which = 0
        try:
            async with self._slots.here():
                answer = await self._received(litellm, request, on_text, again=again)
            which = answer.which
            completion = read_response(
                answer.response,
                request,
                model=self._name,
                api_key=self._api_key,
                begun=request.messages[-1].content if self._echoes and is_begun(request) else "",
                first_token_s=answer.first_token_s,
            )
        except ModelError as error:
            if (used := error.used) is not None:
                usd = self._prices[which].usd(litellm, None, used.prompt_tokens, used.completion_tokens)
                error.used = replace(used, usd=usd)
            if self._fallbacks is not None and isinstance(error, ModelRetryable):
                error.retry_after_s = 0.0  # another model need not wait for that
            raise
        usd = self._prices[which].usd(
            litellm,
            answer.response if has_usage(answer.response) else None,
            completion.prompt_tokens,
            completion.completion_tokens,
        )
        return completion.model_copy(update={"usd": usd})

    async def _received(self, litellm: Any, request: Request, on_text: OnText | None, *, again: bool) -> _Answer:
        fault: ConfigError | ModelError
        unread: bytes | None = None
        raw, assembly = Raw(), None if on_text is None else Assembly(on_text, again=again)
        try:
            # httpx bounds each read; a server that dribbles would never be late without the deadline around it
            async with self._slots.deadline():
                return await self._ask(litellm, request, raw, assembly)
        except (ConfigError, ModelError) as error:  # ours already
            fault = error
        except Exception as error:
            if is_answered(error):
                unread = raw.said or unread_body(error)
            fault = to_model_error(error, litellm, model=self._name, api_key=self._api_key, slots=self._slots)
        # out here so that no traceback shows the library's error, whose text or request may hold the key
        try:
            if unread is None:
                raise fault
            return _Answer(read_body(unread, model=self._name, api_key=self._api_key))
        except ModelError as error:
            error.used = error.used or (usage_of(assembly.response()) if assembly else None)
            raise

    async def _ask(self, litellm: Any, request: Request, raw: Raw, assembly: Assembly | None) -> _Answer:
        arguments = self._arguments(litellm, request) | {"logger_fn": raw.hear}
        if assembly is not None:
            arguments |= {"stream": True, "stream_options": {"include_usage": True}}
        if self._fallbacks is None:
            response = await litellm.acompletion(**arguments)
        else:
            response = await self._fallbacks.acompletion(litellm, **arguments)
        which = self._fallbacks.which(response) if self._fallbacks else 0
        if assembly is None:
            return _Answer(raw.body if raw.ended_in_an_error else response, which)
        async with aclosing(response):
            await self._listen(response, assembly)
        if not assembly.is_whole():
            raise unreachable(self._name, "The answer broke off.")
        return _Answer(assembly.response(), which, assembly.first_token_s)

    async def _listen(self, response: Any, assembly: Assembly) -> None:
        chunks: Any = getattr(response, "completion_stream", None)
        if not Tee.fits(chunks):
            async for chunk in response:
                assembly.add(chunk, model=_served(chunk))
            return
        response.completion_stream = tee = Tee(chunks, assembly, model=self._name, api_key=self._api_key)
        try:
            async for _ in response:
                pass
        except Exception:
            pass  # the stream's own trouble is in the tee; what LiteLLM does not want to read is read all the same
        if tee.fault is not None:
            raise tee.fault
        async for _ in tee:
            pass

    def _arguments(self, litellm: Any, request: Request) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            **chat_body(request),
            "model": self._models[0],
            "timeout": timeout_of(self._slots),
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": True,
        }
        if "logit_bias" in arguments and not self._takes(litellm, "logit_bias"):
            raise ModelRejected(
                f"{self._name} takes no logit_bias, so thought switching can't be penalised there.",
                do="Leave switch_penalty out, or use vllm: or vllm-server:.",
            )
        if any(wants_hints(litellm, model) for model in self._models):
            arguments["messages"] = with_hints(arguments["messages"])
        if self._fallbacks is not None:  # each model has its own
            return arguments
        if self._api_base:
            arguments["api_base"] = self._api_base
        key = self._key(litellm)
        if key:
            arguments["api_key"] = key
        return arguments

    def _samples_at_once(self, litellm: Any) -> bool:
        return self._takes(litellm, "n")

    def _takes(self, litellm: Any, parameter: str) -> bool:
        """True if all of its models' providers have the parameter."""
        try:
            return all(parameter in (litellm.get_supported_openai_params(model) or ()) for model in self._models)
        except Exception:  # unknown provider: the call itself says so
            return False

    def _key(self, litellm: Any) -> str | None:
        if self._api_key or not self._api_base:
            return self._api_key
        return NO_KEY if missing_keys(litellm, self._models[0]) else None


def _served(chunk: Any) -> str:
    """The model that a chunk is from; the chunk itself names the one that was asked."""
    hidden: Any = getattr(chunk, "_hidden_params", None) or {}
    return str(hidden.get("provider_response_model") or "") if hasattr(hidden, "get") else ""
