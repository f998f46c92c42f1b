"""Model backends, chosen by a text such as `openai/gpt-5-mini` or `scripted:replies.jsonl`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.models._choice import backend_for
    from groundwire.models._guard import allow_model_calls
    from groundwire.models._litellm import LiteLLMBackend
    from groundwire.models._openai_compatible import OpenAICompatibleBackend
    from groundwire.models._replay import ReplayBackend
    from groundwire.models._scripted import ScriptedBackend
    from groundwire.models._vllm import VllmBackend
    from groundwire.models._vllm_server import VllmServerBackend

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
        "LiteLLMBackend": "_litellm",
        "OpenAICompatibleBackend": "_openai_compatible",
        "ReplayBackend": "_replay",
        "ScriptedBackend": "_scripted",
        "VllmBackend": "_vllm",
        "VllmServerBackend": "_vllm_server",
        "allow_model_calls": "_guard",
        "backend_for": "_choice",
    },
)
