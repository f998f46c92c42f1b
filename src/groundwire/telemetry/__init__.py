"""Spans, events and metrics for people who run OpenTelemetry; off, and nothing imported, for everybody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.telemetry._spans import (
        ToldOfCall,
        ToldOfEpisode,
        episode_span,
        is_wanted,
        judging_span,
        model_call_span,
        tell_of_signal,
    )

__all__ = [
    "ToldOfCall",
    "ToldOfEpisode",
    "episode_span",
    "is_wanted",
    "judging_span",
    "model_call_span",
    "tell_of_signal",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "ToldOfCall": "_spans",
        "ToldOfEpisode": "_spans",
        "episode_span": "_spans",
        "is_wanted": "_spans",
        "judging_span": "_spans",
        "model_call_span": "_spans",
        "tell_of_signal": "_spans",
    },
)
