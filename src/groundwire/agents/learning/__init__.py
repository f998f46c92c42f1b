"""Actors that learn to act in an environment and need no model."""

from groundwire.agents.learning.bandit_actor import BanditActor
from groundwire.agents.learning.catalogue import LEARNERS, Learner, learner_named
from groundwire.agents.learning.critic import PlaceCritic
from groundwire.agents.learning.heuristic_actor import HeuristicActor
from groundwire.agents.learning.random_actor import RandomActor
from groundwire.agents.learning.tabular_actor import TabularActor

__all__ = [
    "LEARNERS",
    "BanditActor",
    "HeuristicActor",
    "Learner",
    "PlaceCritic",
    "RandomActor",
    "TabularActor",
    "learner_named",
]
