"""Actors that act in environments, and critics that look back on what they did there."""

from groundwire.agents.acting.critics import EpisodeCritic, StepsCritic
from groundwire.agents.acting.react import ReActActor
from groundwire.agents.acting.roll_outs import RollOutActor

__all__ = ["EpisodeCritic", "ReActActor", "RollOutActor", "StepsCritic"]
