"""Actors that act in environments, and critics that look back on what they did there."""

from groundwire.agents.acting.critics import EpisodeCritic, StepsCritic
from groundwire.agents.acting.react import ReActActor

__all__ = ["EpisodeCritic", "ReActActor", "StepsCritic"]
