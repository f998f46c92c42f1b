"""A kind of world, ready to be asked for by name: how one is made, and what a trial in it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from groundwire.environments import Environment, environment_task
from groundwire.tasks import Task

__all__ = ["World"]


@dataclass(frozen=True)
class World:
    """A kind of world.

    Args:
        name: what it is asked for by; tasks of one world are one family and share lessons.
        make: makes one; each trial has one of its own.
        prompt: what is asked for, the form of an action included.
        actions: the most actions of one trial.
        about: one line for a list.
        repeats: how often in a row the same action may get the same answer before the trial counts as stuck. None where
            that is no sign of it, as on slippery ice.
    """

    name: str
    make: Callable[[], Environment]
    prompt: str = "Reach the goal."
    actions: int = 30
    about: str = ""
    repeats: int | None = 3

    def task(self, seed: int) -> Task:
        """The task of winning in the world of that seed.

        Raises:
            TaskError: it can't be begun.
        """
        world = self.make()
        try:
            return environment_task(world, id=f"{self.name}-{seed}", seed=seed, prompt=self.prompt, family=self.name)
        finally:
            world.close()
