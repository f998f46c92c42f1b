"""The gate in other frameworks' loops: an output check that only an outside signal can fail, and that alone retries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.integrations.gated._dspy import GraphModule, GroundedModule, MetricStopped, SealedMetric
    from groundwire.integrations.gated._langchain import GroundedMiddleware, langchain_tools, tools_from_langchain
    from groundwire.integrations.gated._openai_agents import run_grounded, sealed_guardrail
    from groundwire.integrations.gated._output_gate import OutputGate, OutputRefused, OutputRuling
    from groundwire.integrations.gated._pydantic_ai import GroundedOutput

__all__ = [
    "GraphModule",
    "GroundedMiddleware",
    "GroundedModule",
    "GroundedOutput",
    "MetricStopped",
    "OutputGate",
    "OutputRefused",
    "OutputRuling",
    "SealedMetric",
    "langchain_tools",
    "run_grounded",
    "sealed_guardrail",
    "tools_from_langchain",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "GraphModule": "_dspy",
        "GroundedMiddleware": "_langchain",
        "GroundedModule": "_dspy",
        "GroundedOutput": "_pydantic_ai",
        "MetricStopped": "_dspy",
        "OutputGate": "_output_gate",
        "OutputRefused": "_output_gate",
        "OutputRuling": "_output_gate",
        "SealedMetric": "_dspy",
        "langchain_tools": "_langchain",
        "run_grounded": "_openai_agents",
        "sealed_guardrail": "_openai_agents",
        "tools_from_langchain": "_langchain",
    },
)
