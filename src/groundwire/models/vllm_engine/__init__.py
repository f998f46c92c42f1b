"""A vLLM engine in this process: how it is configured, started, asked and ended. vLLM is imported when it starts."""

from groundwire.models.vllm_engine._engine import SharedEngine
from groundwire.models.vllm_engine._options import EngineOptions, Spec, parse_spec
from groundwire.models.vllm_engine._registry import close_engines, engine_for, leave_engine

__all__ = ["EngineOptions", "SharedEngine", "Spec", "close_engines", "engine_for", "leave_engine", "parse_spec"]
