"""Model backends, chosen by a text such as `openai/gpt-5-mini` or `scripted:replies.jsonl`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core.first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.models.choice import backend_for
    from groundwire.models.guard import allow_model_calls
    from groundwire.models.litellm import LiteLLMBackend
    from groundwire.models.openai_compatible import OpenAICompatibleBackend
    from groundwire.models.replay import ReplayBackend
    from groundwire.models.scripted import ScriptedBackend
    from groundwire.models.vllm import VllmBackend
    from groundwire.models.vllm_server import VllmServerBackend

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
