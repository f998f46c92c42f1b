"""Gymnasium's environments by their id, and one of them as a world: won only where its rule says so."""

from __future__ import annotations

import ast
import difflib
import math
import re
from collections.abc import Callable
from typing import Any

from groundwire.core._errors import ConfigError
from groundwire.core._scenes import Scene, Status
from groundwire.core._user_code import user_module
from groundwire.tools.environments._world import World, options_in
from groundwire.tools.environments.gymnasium._known import ANY, End, Known, known, rule_of
from groundwire.tools.environments.gymnasium._spaces import action_words

# One Gymnasium environment as a world: words in, text out, and won only where its rule says so.


class GymnasiumEnvironment:
    """Plays an environment of Gymnasium's API (`reset(seed=)`, `step`). See `core._environments.Environment`.

    Args:
        make: makes it; `lambda: MyEnv()` for one of your own.
        won_if: when it is won, see `rule_of`; it goes before what is known of it. Without either, `info["is_success"]`
            counts, and where that is missing a terminated episode gives no verdict: `done` is not `won`.
        known: what its actions are called, and how its states read.

    Raises:
        ConfigError: its actions are neither discrete nor text, or `won_if` can't be read.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        *,
        won_if: str | Callable[[End], bool] | None = None,
        known: Known = ANY,
    ) -> None:
        self._rule = known.rule if won_if is None else rule_of(won_if)
        self._known = known
        self._env = make()
        self._space = self._env.action_space
        self.words = action_words(self._space, known.names, known.also)
        self._hints = self.words.hints
        self._text = ""
        self._total = 0.0
        self._is_over = True

    def reset(self, seed: int) -> Scene:
        """See `Environment`."""
        observation, info = self._env.reset(seed=seed)
        self._total, self._is_over = 0.0, False
        return self._scene(observation, info, Status.RUNNING, "")

    def act(self, action: str) -> Scene:
        """See `Environment`. A word that is no action costs no step and changes nothing."""
        if self._is_over:
            raise RuntimeError("it is over, and can't be acted in before it is reset")
        if self._env.action_space != self._space:
            raise RuntimeError("it changed its action space")
        try:
            step = self.words.read(action)
        except ValueError:
            said = f"There is no such action; an action is {self.words.form}."
            return Scene(self._text, actions=self._hints, event=said)
        observation, reward, terminated, truncated, info = self._env.step(step)
        reward = float(reward)
        if not math.isfinite(reward):
            raise ValueError(f"the reward is {reward}")
        self._total += reward
        self._is_over = bool(terminated or truncated)
        event = self._known.event(reward)
        if not self._is_over:
            return self._scene(observation, info, Status.RUNNING, event)
        if truncated and not terminated:
            event = f"{event} The step limit is reached.".strip()
        bare = self._env.unwrapped
        end = End(bool(terminated), bool(truncated), reward, self._total, observation, info, bare)
        return self._scene(observation, info, self._rule(end), event)

    def close(self) -> None:
        """See `Environment`."""
        self._env.close()

    def _scene(self, observation: Any, info: Any, status: Status, event: str) -> Scene:
        self._text = self._known.text(self._env.unwrapped, observation)
        self._hints = self._possible(info) if status is Status.RUNNING else ()
        return Scene(self._text, status, self._hints, event)

    def _possible(self, info: Any) -> tuple[str, ...]:
        """The actions that the environment's own mask lets through; all of them where it has none."""
        mask = info.get("action_mask")
        words = self.words.hints
        if mask is None or len(mask) != len(words):
            return words
        return tuple(word for word, may in zip(words, mask, strict=True) if may) or words


# Gymnasium's environments by their id: `FrozenLake-v1`, `gymnasium:FrozenLake-v1?is_slippery=False`.

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
