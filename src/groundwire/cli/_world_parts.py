"""What acts in a world: a learner that needs no model, or a model that reasons and acts; and how long a trial is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Self

from groundwire.agents.worlds import EpisodeCritic, ReActActor
from groundwire.agents.worlds._learners import LEARNERS, learner_named
from groundwire.cli._parts import Kit, backend_of, budget_of
from groundwire.core._environments import start_of
from groundwire.core._errors import ConfigError
from groundwire.core._settings import Settings
from groundwire.core._tasks import Task
from groundwire.graphs import Rules
from groundwire.tools.environments._catalogue import world
from groundwire.tools.environments._world import World

TRIALS = 5
"""Of one episode, unless told."""


@dataclass(frozen=True)
class WorldKit(Kit):
    """A kit for worlds.

    Args:
        world: where it acts.
        repeats: how often in a row the same action may get the same response before a trial is stuck; None: as often
            as it likes.
    """

    world: World
    repeats: int | None

    @classmethod
    def in_world(cls, settings: Settings, name: str, repeats: int | None) -> Self:
        """The parts that `settings` name.

        Args:
            settings: `model` is a learner's name or a model's id.
            name: the world's.
            repeats: see the class; 0: no limit; None: what the world says.

        Raises:
            ConfigError, ModelError: the world, the learner or the model can't be had.
        """
        kind, model = world(name), settings.model or ""
        _check_spelling(model)
        backend = None if model in LEARNERS else backend_of(settings)
        if backend is None:
            learner = learner_named(model)
            actor, critic = learner.actor, learner.critic
        else:
            actor, critic = ReActActor(backend), EpisodeCritic(backend)
        if repeats is None:
            repeats = kind.repeats
        # a trial's last action must be judged before the budget's steps end the episode without a verdict
        budget = budget_of(settings, TRIALS).model_copy(update={"steps": kind.actions + 1})
        return cls(settings, actor, critic, 1, budget, backend, kind, repeats or None)

    @property
    def rules(self) -> Rules:
        """Every episode may have all of its trials: to fail in the same way again is what a learner learns from."""
        return Rules(repeats=None)

    def parts(self, task: Task) -> Mapping[str, Any]:
        """See `Kit`."""
        return {
            "actor": self.actor,
            "critic": self.critic,
            "make": self.world.make,
            "actions": self.world.actions,
            "repeats": self.repeats,
            "model": self.backend or self.settings.model,
            "seed": self.settings.seed,
        }

    def check(self, task: Task) -> None:
        """Says so before anything is played if nobody could act there.

        Raises:
            ConfigError: the world does not say what can be done, and what is to act needs that.
        """
        if self.backend is None and not start_of(task).scene.actions:
            raise ConfigError(
                f"The world {self.world.name} does not say what can be done, and {self.settings.model!r} chooses from"
                " that.",
                do="Use a model (--model MODEL), or a world whose scenes name their actions.",
            )


def _check_spelling(model: str) -> None:
    if model not in LEARNERS and "/" not in model and ":" not in model:
        near = get_close_matches(model, LEARNERS, 1, 0.75)
        if near:
            raise ConfigError(f"There is no learner called {model!r:.80}.", do=f"Did you mean --model {near[0]}?")
