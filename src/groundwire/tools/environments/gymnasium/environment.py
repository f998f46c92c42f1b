"""One Gymnasium environment as a world: words in, text out, and won only where its rule says so."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from groundwire.environments import Scene, Status
from groundwire.tools.environments.gymnasium.ending import End, rule_of
from groundwire.tools.environments.gymnasium.known import ANY, Known
from groundwire.tools.environments.gymnasium.spaces import action_words

__all__ = ["GymnasiumEnvironment"]


class GymnasiumEnvironment:
    """Plays an environment of Gymnasium's API (`reset(seed=)`, `step`). See `groundwire.environments.Environment`.

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
