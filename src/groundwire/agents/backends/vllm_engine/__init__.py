"""A vLLM engine in this process: how it is configured, started, asked and ended. vLLM is imported when it starts."""

from groundwire.agents.backends.vllm_engine.engine import SharedEngine, close_engines, engine_for
from groundwire.agents.backends.vllm_engine.options import EngineOptions, Spec, parse_spec

__all__ = ["EngineOptions", "SharedEngine", "Spec", "close_engines", "engine_for", "parse_spec"]
