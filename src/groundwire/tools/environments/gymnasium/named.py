"""Gymnasium's environments by their id: `FrozenLake-v1`, `gymnasium:FrozenLake-v1?is_slippery=False`."""

from __future__ import annotations

import ast
import difflib
import re
from typing import Any

from groundwire.errors import ConfigError
from groundwire.tools.environments.gymnasium.environment import GymnasiumEnvironment
from groundwire.tools.environments.gymnasium.known import known
from groundwire.tools.environments.options import options_in
from groundwire.tools.environments.world import World
from groundwire.user_code import user_module

__all__ = ["gymnasium_world", "looks_like_an_id"]

EXTRA = 'pip install "groundwire[environments]"'
ID = re.compile(r"(?:[\w.]+:)?(?:[\w-]+/)?[\w.-]+-v\d+")
ACTIONS = 30
"""Of a trial in an environment that has no step limit of its own."""


def looks_like_an_id(name: str) -> bool:
    """Whether `name` has the form of an environment's id: it ends with its version."""
    return ID.fullmatch(name.partition("?")[0]) is not None


def gymnasium_world(name: str) -> World:
    """The world of an environment that is registered with Gymnasium.

    Args:
        name: `ID` or `ID?option=value&…`: `won_if` as in `rule_of`, all else is given to the environment, and
            `max_episode_steps` to Gymnasium. `package:ID` imports that package first, which registers it.

    Raises:
        ConfigError: Gymnasium is not installed, has no such environment, or can't make it with these options; its
            actions are neither discrete nor text.
    """
    try:
        import gymnasium
    except ImportError as error:
        raise ConfigError("Gymnasium is not installed.", do=EXTRA) from error
    id, _, written = name.partition("?")
    options = options_in(written)
    won_if = options.pop("won_if", None)
    try:
        spec = gymnasium.spec(id) if ":" not in id else _spec_of_package(gymnasium, id)
    except (gymnasium.error.Error, ImportError) as error:
        close = difflib.get_close_matches(id, list(gymnasium.registry), n=3)
        if close:
            raise ConfigError(
                f"Gymnasium has no environment {id!r:.80}.", do=f"Did you mean {' or '.join(close)}?"
            ) from error
        what = f"Gymnasium has no environment {id!r:.80}: {error!s:.200}"
        raise ConfigError(what, do="`gymnasium.pprint_registry()` prints those that there are.") from error
    about = known(spec.entry_point)
    given: dict[str, Any] = {key: _value(value) for key, value in options.items()}
    limit = given.pop("max_episode_steps", spec.max_episode_steps or about.steps)

    def make() -> GymnasiumEnvironment:
        return GymnasiumEnvironment(
            # its checker would warn of what is checked here, too, and end in an error
            lambda: gymnasium.make(spec, max_episode_steps=limit, disable_env_checker=True, **given),
            won_if=won_if,
            known=about,
        )

    try:
        probe = make()
    except ConfigError as error:
        raise ConfigError(f"{id} can't be acted in by words: {error.what}", do=error.do) from error
    except Exception as error:
        what = f"{id} can't be made: {type(error).__name__}: {error!s:.300}"
        raise ConfigError(what, do="Check its options; they are given to the environment as they are.") from error
    try:
        form = probe.words.form
    finally:
        probe.close()
    return World(
        name=name,
        make=make,
        prompt=f"{about.prompt} An action is {form}.",
        actions=limit or ACTIONS,
        repeats=about.repeats,
        about=f"Gymnasium's {id}",
    )


def _spec_of_package(gymnasium: Any, id: str) -> Any:
    package, _, own = id.partition(":")
    user_module(package, form="gymnasium:PACKAGE:ID")
    return gymnasium.spec(own)


def _value(text: str) -> Any:
    """An option's value: a Python literal where it is one (also `true` and `false`), and otherwise the text."""
    try:
        return ast.literal_eval({"true": "True", "false": "False", "none": "None"}.get(text, text))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # as `literal_eval` documents
        return text
