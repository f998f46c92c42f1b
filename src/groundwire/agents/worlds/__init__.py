"""Actors that act in environments: by a model, by learning without one, by planning; and critics of their trials."""

from groundwire.agents.worlds.acting import EpisodeCritic, ReActActor, StepsCritic
from groundwire.agents.worlds.learners import (
    LEARNERS,
    BanditActor,
    HeuristicActor,
    Learner,
    PlaceCritic,
    RandomActor,
    TabularActor,
    learner_named,
)
from groundwire.agents.worlds.lookahead import LookaheadActor, Rollouts, Value
from groundwire.agents.worlds.roll_outs import RollOutActor
from groundwire.agents.worlds.world_models import Imagined, LLMForesight, Simulator, WorldModel

__all__ = [
    "LEARNERS",
    "BanditActor",
    "EpisodeCritic",
    "HeuristicActor",
    "Imagined",
    "LLMForesight",
    "Learner",
    "LookaheadActor",
    "PlaceCritic",
    "RandomActor",
    "ReActActor",
    "RollOutActor",
    "Rollouts",
    "Simulator",
    "StepsCritic",
    "TabularActor",
    "Value",
    "WorldModel",
    "learner_named",
]
