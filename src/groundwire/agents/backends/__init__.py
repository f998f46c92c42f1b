"""Model backends, chosen by a text such as `openai/gpt-5-mini` or `scripted:replies.jsonl`."""

from groundwire.agents.backends.choice import backend_for
from groundwire.agents.backends.guard import allow_model_calls
from groundwire.agents.backends.litellm import LiteLLMBackend
from groundwire.agents.backends.openai_compatible import OpenAICompatibleBackend
from groundwire.agents.backends.replay import ReplayBackend
from groundwire.agents.backends.scripted import ScriptedBackend

__all__ = [
    "LiteLLMBackend",
    "OpenAICompatibleBackend",
    "ReplayBackend",
    "ScriptedBackend",
    "allow_model_calls",
    "backend_for",
]
