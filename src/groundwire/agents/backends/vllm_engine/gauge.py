"""Counts what an engine is doing, from the statistics that it gives after every step."""

from __future__ import annotations

from typing import Any

from groundwire.loads import Load

__all__ = ["Gauge"]


class Gauge:
    """Stands in vLLM's list of stat loggers; its methods are those of vLLM's `StatLoggerBase`.

    Args:
        capacity: samples that the engine generates at once at most.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.in_flight = 0
        """Samples that were sent and are not answered, by our own count."""
        self.running = 0
        """Samples that are being generated, by the engine's."""
        self.most_running = 0
        self.prompt_tokens = 0
        """Prompt tokens that were looked up in the prefix cache, since the engine's start."""
        self.cached_tokens = 0
        """Those of them that were found there."""
        self.preempted = 0
        """Samples that had to start again for want of memory."""

    def __call__(self, _config: Any, _engine_index: int = 0) -> Gauge:
        """Called by vLLM as a factory."""
        return self

    def record(self, scheduler_stats: Any, iteration_stats: Any, *_rest: Any, **_more: Any) -> None:
        """Called by vLLM after every step."""
        if scheduler_stats is not None:
            self.running = int(scheduler_stats.num_running_reqs)
            self.most_running = max(self.most_running, self.running)
            cache = scheduler_stats.prefix_cache_stats
            if cache is not None:
                self.prompt_tokens += int(cache.queries)
                self.cached_tokens += int(cache.hits)
        if iteration_stats is not None:
            self.preempted += int(getattr(iteration_stats, "num_preempted_reqs", 0))

    def log_engine_initialized(self) -> None:
        """Nothing to say."""

    def log(self) -> None:
        """Nothing to say."""

    def record_sleep_state(self, *_state: Any, **_more: Any) -> None:
        """Engines of ours don't sleep."""

    def load(self) -> Load:
        """How busy the engine is. What it has not begun waits, also what has not reached it."""
        running = min(self.running, self.in_flight)
        return Load(running, self.in_flight - running, self.capacity)
