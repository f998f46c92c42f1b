"""Actors that act in environments: by a model, by learning without one, by planning; and critics of their trials."""

from groundwire.agents.worlds._acting import EpisodeCritic, ReActActor, StepsCritic
from groundwire.agents.worlds._foresight import Imagined, LLMForesight, Simulator, WorldModel
from groundwire.agents.worlds._learners import (
    LEARNERS,
    BanditActor,
    HeuristicActor,
    Learner,
    PlaceCritic,
    RandomActor,
    TabularActor,
    learner_named,
)
from groundwire.agents.worlds._lookahead import LookaheadActor, Rollouts, Value
from groundwire.agents.worlds._roll_outs import RollOutActor

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
