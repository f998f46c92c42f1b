"""Spans and metrics for people who run OpenTelemetry; off, and nothing imported, for everybody else."""

from groundwire.telemetry._spans import ToldOfCall, ToldOfEpisode, episode_span, is_wanted, model_call_span

__all__ = ["ToldOfCall", "ToldOfEpisode", "episode_span", "is_wanted", "model_call_span"]
