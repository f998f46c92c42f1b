"""What a request may cost at most, and what an answer did cost. An unknown price is None, never a guess."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

from groundwire.core._errors import ConfigError
from groundwire.core._models import Request

LOCAL_PROVIDERS = frozenset({"ollama", "ollama_chat", "llamafile", "lm_studio", "hosted_vllm"})
"""Providers that are a server of one's own; free while they run on this machine."""
MESSAGE_OVERHEAD_TOKENS = 16
"""Tokens that chat templates add for each message, and once more for the reply's head."""


@dataclass(frozen=True)
class Rates:
    """US dollars a token.

    Args:
        prompt: for each token sent.
        completion: for each token generated, reasoning included.
        request: for each request.
    """

    prompt: float
    completion: float
    request: float = 0.0

    @classmethod
    def given(cls, usd_per_token: tuple[float, float] | None) -> Rates | None:
        """The rates that a user gives for prompt and completion; None where none are given.

        Raises:
            ConfigError: a price is negative or no number.
        """
        if usd_per_token is None:
            return None
        if not all(0 <= usd < float("inf") for usd in usd_per_token):
            raise ConfigError(f"usd_per_token is {usd_per_token}.", do="Give two prices of 0 or more.")
        return cls(*usd_per_token)

    def usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What these tokens cost."""
        return self.prompt * prompt_tokens + self.completion * completion_tokens + self.request


FREE = Rates(0.0, 0.0)


def prompt_tokens_bound(request: Request) -> int:
    """The most tokens that the prompt can be: no byte-level tokeniser makes more tokens than there are bytes.

    Real counts are near a quarter of it for English and code, so a reservation is released in large part afterwards.
    """
    texts = sum(len(m.content.encode("utf-8", "surrogatepass")) for m in request.messages)
    schema = len(str(request.json_schema).encode("utf-8", "surrogatepass")) if request.json_schema else 0
    schema += len(str(request.tools).encode("utf-8", "surrogatepass")) if request.tools else 0
    texts += sum(len(str(m.tool_calls).encode("utf-8", "surrogatepass")) for m in request.messages if m.tool_calls)
    return texts + schema + MESSAGE_OVERHEAD_TOKENS * (len(request.messages) + 1)


def rates_from_cost_map(entry: Mapping[str, Any]) -> Rates | None:
    """The highest rates that LiteLLM's cost map gives a model (long-context tiers included); None where it has none."""
    prompt = _highest(entry, "input_cost_per_token")
    completion = _highest(entry, "output_cost_per_token")
    if prompt is None or completion is None:
        return None
    # what a provider writes into its cache may cost more than what it only reads
    written = _highest(entry, "cache_creation_input_token_cost") or 0.0
    reasoning = _number(entry.get("output_cost_per_reasoning_token")) or 0.0
    return Rates(max(prompt, written), max(completion, reasoning), _number(entry.get("input_cost_per_request")) or 0.0)


def _highest(entry: Mapping[str, Any], name: str) -> float | None:
    base = _number(entry.get(name))
    if base is None:
        return None
    # other suffixes are service tiers (batches, flex, priority) that we never ask for
    tiers = [_number(v) for key, v in entry.items() if key.startswith(f"{name}_above_") and key.endswith("_tokens")]
    return max([base, *(t for t in tiers if t is not None)])


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and math.isfinite(value) and value >= 0:
        return float(value)
    return None


def is_loopback(url: str | None) -> bool:
    """True if `url` names this machine."""
    if not url:
        return False
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class PriceList:
    """What one model costs: the user's price first, then free if it is local, then LiteLLM's cost map.

    What LiteLLM says is asked for once; its answer does not change while a backend is in use.

    Args:
        model: LiteLLM's id.
        api_base: the address, where one was given.
        given: the user's price.
    """

    def __init__(self, model: str, api_base: str | None = None, given: Rates | None = None) -> None:
        self.given = given
        self._model = model
        self._api_base = api_base
        self._looked_up: tuple[Rates | None] | None = None

    def rates(self, litellm: Any) -> Rates | None:
        """The highest rates that may apply; None where they are unknown."""
        if self.given:
            return self.given
        if self._looked_up is None:
            self._looked_up = (FREE if self._is_local(litellm) else self._listed(litellm),)
        return self._looked_up[0]

    def usd(self, litellm: Any, response: Any, prompt_tokens: int, completion_tokens: int) -> float | None:
        """What an answer cost; None where the price is unknown.

        Args:
            litellm: the loaded module.
            response: its response with the provider's own usage; None where the provider sent none.
            prompt_tokens: as counted, or estimated where there is no usage.
            completion_tokens: likewise.
        """
        rates = self.rates(litellm)
        if rates is None or self.given or rates is FREE:
            return rates.usd(prompt_tokens, completion_tokens) if rates else None
        listed = self._worked_out(litellm, response)
        return rates.usd(prompt_tokens, completion_tokens) if listed is None else listed

    def _worked_out(self, litellm: Any, response: Any) -> float | None:
        """LiteLLM's own sum, which knows the discount for cached tokens."""
        if response is None:
            return None
        if not isinstance(response, dict):
            hidden: Any = getattr(response, "_hidden_params", None) or {}
            return _number(hidden.get("response_cost")) if hasattr(hidden, "get") else None
        try:  # it was put together from chunks
            whole = litellm.ModelResponse(**cast("dict[str, Any]", response))
            return _number(litellm.completion_cost(completion_response=whole, model=self._model))
        except Exception:  # it raises a bare class for what it can't price
            return None

    def _listed(self, litellm: Any) -> Rates | None:
        try:
            key = str(litellm.get_model_info(self._model)["key"])
            entry = cast("dict[str, Any]", litellm.model_cost[key])
        except Exception:  # it raises a bare class for a model it does not know; then the price is unknown
            return None
        return rates_from_cost_map(entry)

    def _is_local(self, litellm: Any) -> bool:
        try:
            _, provider, _, address = litellm.get_llm_provider(self._model, api_base=self._api_base)
        except Exception:  # unknown provider: the call itself says so
            return False
        return provider in LOCAL_PROVIDERS and is_loopback(self._api_base or address)
