"""The backend for an OpenAI-compatible server of our own: the one place that says which client talks to it."""

from __future__ import annotations

from typing import Any

from groundwire.agents.backends.litellm import LiteLLMBackend

__all__ = ["backend_at"]


def backend_at(
    base_url: str, model: str, *, key: str, name: str, timeout_s: float, max_in_flight: int, max_attempts: int = 2
) -> LiteLLMBackend:
    """A backend for one server; it is free, and owns the retries of single requests.

    Args:
        base_url: address of the API, with its `/v1`.
        model: how the server names the model.
        key: what the server asks for.
        name: how the user names the model.
        timeout_s: seconds that one attempt may take.
        max_in_flight: requests in flight at once.
        max_attempts: requests sent at most for one answer.
    """
    options: dict[str, Any] = {"usd_per_token": (0.0, 0.0), "backoff_s": 0.2}
    return LiteLLMBackend(
        f"hosted_vllm/{model}",
        api_base=base_url,
        api_key=key,
        name=name,
        timeout_s=timeout_s,
        max_in_flight=max_in_flight,
        max_attempts=max_attempts,
        **options,
    )
