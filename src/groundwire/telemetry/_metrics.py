"""The metrics: those that the semantic conventions have for model calls, agents and tools, and what a signal adds."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.metrics import Histogram, Meter

SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
AGENT_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
CALLS = (1, 2, 4, 8, 16, 32, 64, 128)


class Instruments:
    """One of each, for a meter."""

    def __init__(self, meter: Meter) -> None:
        def histogram(name: str, unit: str, said: str, bounds: Sequence[float]) -> Histogram:
            return meter.create_histogram(name, unit, said, explicit_bucket_boundaries_advisory=bounds)

        inference = "gen_ai.client.inference"
        self.duration = histogram(f"{inference}.duration", "s", "Duration of a model call.", SECONDS)
        self.first_token = histogram(
            f"{inference}.time_to_first_chunk", "s", "Time to the first chunk of a streamed answer.", SECONDS
        )
        self.input_tokens = meter.create_counter(f"{inference}.usage.input_tokens", "{token}", "Input tokens used.")
        self.cached_tokens = meter.create_counter(
            f"{inference}.usage.cache_read.input_tokens", "{token}", "Input tokens that came from a provider's cache."
        )
        self.output_tokens = meter.create_counter(f"{inference}.usage.output_tokens", "{token}", "Output tokens used.")
        agent = "gen_ai.invoke_agent"
        self.agent_duration = histogram(f"{agent}.duration", "s", "Duration of an episode.", AGENT_SECONDS)
        self.inference_calls = histogram(
            f"{agent}.inference_calls", "{inference_call}", "Model calls of an episode.", CALLS
        )
        self.tool_calls = histogram(f"{agent}.tool_calls", "{tool_call}", "Judgings of an episode.", CALLS)
        self.tool_duration = histogram("gen_ai.execute_tool.duration", "s", "Duration of a judging.", SECONDS)
        self.usd = meter.create_counter("groundwire.client.cost", "{USD}", "What model calls cost.")
        self.signals = meter.create_counter("groundwire.signals", "{signal}", "Signals that were sealed.")
