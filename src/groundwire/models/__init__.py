"""Model backends, chosen by a text such as `openai/gpt-5-mini` or `scripted:replies.jsonl`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.models._choice import Patience, backend_for
    from groundwire.models._guard import allow_model_calls
    from groundwire.models._library import load_litellm
    from groundwire.models._litellm import Fallbacks, LiteLLMBackend
    from groundwire.models._local import LocalBackend
    from groundwire.models._minilm import MiniLM
    from groundwire.models._openai_compatible import OpenAICompatibleBackend
    from groundwire.models._replay import ReplayBackend
    from groundwire.models._replicas import ReplicatedBackend
    from groundwire.models._rerank import LiteLLMReranker
    from groundwire.models._scripted import ScriptedBackend
    from groundwire.models._transformers import TransformersBackend
    from groundwire.models._vllm import VllmBackend
    from groundwire.models._vllm_server import VllmServerBackend
    from groundwire.models._watched import WatchedBackend
    from groundwire.models.local_model import SMOLLM2, ServerOptions

__all__ = [
    "SMOLLM2",
    "Fallbacks",
    "LiteLLMBackend",
    "LiteLLMReranker",
    "LocalBackend",
    "MiniLM",
    "OpenAICompatibleBackend",
    "Patience",
    "ReplayBackend",
    "ReplicatedBackend",
    "ScriptedBackend",
    "ServerOptions",
    "TransformersBackend",
    "VllmBackend",
    "VllmServerBackend",
    "WatchedBackend",
    "allow_model_calls",
    "backend_for",
    "load_litellm",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "Fallbacks": "_litellm",
        "LiteLLMBackend": "_litellm",
        "LiteLLMReranker": "_rerank",
        "LocalBackend": "_local",
        "MiniLM": "_minilm",
        "OpenAICompatibleBackend": "_openai_compatible",
        "Patience": "_choice",
        "ReplayBackend": "_replay",
        "ReplicatedBackend": "_replicas",
        "SMOLLM2": "local_model",
        "ScriptedBackend": "_scripted",
        "ServerOptions": "local_model",
        "TransformersBackend": "_transformers",
        "VllmBackend": "_vllm",
        "VllmServerBackend": "_vllm_server",
        "WatchedBackend": "_watched",
        "allow_model_calls": "_guard",
        "backend_for": "_choice",
        "load_litellm": "_library",
    },
)
