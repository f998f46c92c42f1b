"""Actors that learn to act in an environment and need no model."""

from groundwire.agents.learning.catalogue import LEARNERS, Learner, learner_named
from groundwire.agents.learning.heuristic_actor import HeuristicActor
from groundwire.agents.learning.random_actor import RandomActor

__all__ = ["LEARNERS", "HeuristicActor", "Learner", "RandomActor", "learner_named"]
