"""A kind of world, ready to be asked for by name with its options: how one is made, and what a trial in it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from groundwire.core._environments import Environment, environment_task
from groundwire.core._errors import ConfigError, GroundwireError, TaskError
from groundwire.core._tasks import Task

# A kind of world, ready to be asked for by name: how one is made, and what a trial in it is.

BEGIN_S = 120.0
"""Wall seconds in which a world shows what it begins with; a game of TextWorld is made in that time."""


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

    def task(self, seed: int, *, timeout_s: float = BEGIN_S) -> Task:
        """The task of winning in the world of that seed.

        Args:
            seed: which one.
            timeout_s: wall seconds that it may take to begin.

        Raises:
            TaskError: it can't be begun, or does not begin in that time.
        """
        found: list[Task | BaseException] = []

        def begin() -> None:
            try:
                found.append(self._task(seed))
            except BaseException as error:
                found.append(error)

        # a daemon: a world that hangs keeps no program from ending
        thread = threading.Thread(target=begin, name="environment", daemon=True)
        thread.start()
        thread.join(timeout_s)
        match found:
            case [Task() as task]:
                return task
            case [GroundwireError() as error]:
                raise error
            case [BaseException() as error]:
                what = f"The world {self.name} can't be made: {type(error).__name__}: {error}"
                raise TaskError(what, do="Repair it, or choose another.") from error
            case _:
                what = f"The world {self.name} with seed {seed} does not begin within {timeout_s:g} s."
                raise TaskError(what, do="Repair it, or choose another.")

    def _task(self, seed: int) -> Task:
        world = self.make()
        try:
            return environment_task(world, id=f"{self.name}-{seed}", seed=seed, prompt=self.prompt, family=self.name)
        finally:
            with suppress(Exception):
                world.close()


# The options of a world's name, as they are written on a command line.


def options_in(text: str, *, between: str = "&") -> dict[str, str]:
    """`a=1&b=x` as a dictionary.

    Args:
        text: what was written; it may be empty.
        between: what stands between two options.

    Raises:
        ConfigError: an option has no value, or stands there twice.
    """
    found: dict[str, str] = {}
    for part in filter(None, text.split(between)):
        key, equals, value = (each.strip() for each in part.partition("="))
        if not key.isidentifier() or not equals or not value:
            raise ConfigError(f"An option of a world is name=value, and this is not: {part!r:.80}.")
        if key in found:
            raise ConfigError(f"The option {key} of a world is given twice.")
        found[key] = value
    return found
