"""Tells a provider which part of a prompt to keep, where it wants to be told.

OpenAI, DeepSeek, vLLM and llama.cpp cache the beginning of a prompt by themselves. Anthropic's models (there, on
Bedrock, on Vertex AI and through OpenRouter) cache what a `cache_control` mark ends; LiteLLM passes it on.
"""

from __future__ import annotations

from typing import Any, cast

__all__ = ["wants_hints", "with_hints"]

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
