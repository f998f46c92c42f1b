"""All learners that need no model, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from groundwire.agents.learning.bandit_actor import BanditActor
from groundwire.agents.learning.critic import PlaceCritic
from groundwire.agents.learning.heuristic_actor import HeuristicActor
from groundwire.agents.learning.random_actor import RandomActor
from groundwire.agents.learning.tabular_actor import TabularActor
from groundwire.contexts import Actor, Critic
from groundwire.errors import ConfigError

__all__ = ["LEARNERS", "Learner", "learner_named"]


@dataclass(frozen=True)
class Learner:
    """What acts, and what says afterwards why it failed.

    Args:
        actor: proposes one action at a time.
        critic: writes the reason of each failure on file.
    """

    actor: Actor
    critic: Critic


LEARNERS: Mapping[str, Callable[[], Actor]] = {
    "random": RandomActor,
    "heuristic": HeuristicActor,
    "bandit": BanditActor,
    "tabular": TabularActor,
}
"""What makes each one's actor."""


def learner_named(name: str) -> Learner:
    """A fresh learner of that name.

    Args:
        name: one of `LEARNERS`.

    Raises:
        ConfigError: there is none of that name.
    """
    make = LEARNERS.get(name)
    if make is None:
        known = ", ".join(LEARNERS)
        raise ConfigError(f"There is no learner called {name!r:.80}.", do=f"Use one of {known}, or name a model.")
    return Learner(make(), PlaceCritic())
