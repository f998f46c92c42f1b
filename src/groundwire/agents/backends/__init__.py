"""Model backends, chosen by a text such as `openai/gpt-5-mini` or `scripted:replies.jsonl`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.agents.backends.choice import backend_for
    from groundwire.agents.backends.guard import allow_model_calls
    from groundwire.agents.backends.litellm import LiteLLMBackend
    from groundwire.agents.backends.openai_compatible import OpenAICompatibleBackend
    from groundwire.agents.backends.replay import ReplayBackend
    from groundwire.agents.backends.scripted import ScriptedBackend
    from groundwire.agents.backends.vllm import VllmBackend
    from groundwire.agents.backends.vllm_server import VllmServerBackend

__all__ = [
    "LiteLLMBackend",
    "OpenAICompatibleBackend",
    "ReplayBackend",
    "ScriptedBackend",
    "VllmBackend",
    "VllmServerBackend",
    "allow_model_calls",
    "backend_for",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "LiteLLMBackend": "litellm",
        "OpenAICompatibleBackend": "openai_compatible",
        "ReplayBackend": "replay",
        "ScriptedBackend": "scripted",
        "VllmBackend": "vllm",
        "VllmServerBackend": "vllm_server",
        "allow_model_calls": "guard",
        "backend_for": "choice",
    },
)
