"""Games of TextArena by their id: `textarena:2048-v0`, `textarena:TicTacToe-v0`. Alone, or against random play.

Source: https://github.com/LeonGuertler/TextArena. A game draws from the interpreter's one generator; here each draws
from a state of its own, which only its seed has set, so that games beside each other stay the same.
"""

from __future__ import annotations

import difflib
import random
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from groundwire.core._errors import ConfigError
from groundwire.core._scene import Scene, Status
from groundwire.tools.environments._world import World

EXTRA = 'pip install "groundwire[worlds]"'
DRAWING = threading.Lock()
"""Held while a game draws: it does so from what all of this process share."""
RAW = "-raw"
"""Ends the ids of games without wrappers, which would put the whole past into each observation."""
IN_BRACKETS = re.compile(r"\[([^\[\]\n]{1,24})\]")
LISTED = re.compile(r"(?:available|valid|legal) moves?:\s*(.*)", re.IGNORECASE)
ACTIONS = 100
WON = 1.0
"""The reward of a game that is won; a part of it is given for getting near."""


def textarena_world(name: str) -> World:
    """The world of one of its games.

    Args:
        name: the game's id, `2048-v0-easy`.

    Raises:
        ConfigError: TextArena is not installed, has no such game, or it is for more than two.
    """
    arena = _arena()
    known = [each.removesuffix(RAW) for each in arena.envs.registration.ENV_REGISTRY if each.endswith(RAW)]
    if name not in known:
        close = difflib.get_close_matches(name, known, n=3)
        raise ConfigError(
            f"TextArena has no game {name!r:.60}.",
            do=f"Did you mean {' or '.join(close or ('2048-v0', 'TicTacToe-v0'))}?",
        )
    probe = TextArenaEnvironment(name)
    try:
        goal = probe.goal(0)
    finally:
        probe.close()
    return World(
        name=f"textarena:{name}",
        make=lambda: TextArenaEnvironment(name),
        prompt=goal,
        actions=ACTIONS,
        repeats=None,  # a wall that a tile meets says nothing of the next one
        about=f"TextArena's {name}",
    )


def _arena() -> Any:
    try:
        import textarena  # pyright: ignore[reportMissingImports]  # an extra
    except ImportError as error:
        raise ConfigError("TextArena is not installed.", do=EXTRA) from error
    return textarena


class TextArenaEnvironment:
    """One game. An action is a word, in brackets or without; the other player, if there is one, plays at random.

    Args:
        name: the game's id.
    """

    oracle = False

    def __init__(self, name: str) -> None:
        self._name = name
        self._game: Any = None
        self._state: Any = None
        self._board = ""
        self._hints: tuple[str, ...] = ()
        self._prompt = ""
        self._over = True

    def goal(self, seed: int) -> str:
        """What is asked for, in the game's own words."""
        self.reset(seed)
        return self._prompt

    def reset(self, seed: int) -> Scene:
        """See `Environment`."""
        self.close()
        arena = _arena()
        self._game = arena.make(f"{self._name}{RAW}")
        self._state = random.Random(seed).getstate()
        self._over, self._board, self._prompt = False, "", ""
        with self._own_draws():
            self._begin(seed)
        event = self._see()
        return Scene(self._board, actions=self._hints, event=event)

    def _begin(self, seed: int) -> None:
        try:
            self._game.reset(num_players=1, seed=seed)
        except AssertionError:
            try:
                self._game.reset(num_players=2, seed=seed)
            except AssertionError as error:
                raise ConfigError(f"{self._name} is for more than two players.", do="Choose another game.") from error

    def act(self, action: str) -> Scene:
        """See `Environment`."""
        if self._game is None or self._over:
            raise RuntimeError("it is over, and can't be acted in before it is reset")
        done = self._step(action)
        event = self._see() if not done else ""
        while not done and self._player != 0:
            if not self._hints:
                raise RuntimeError("the game does not say what the other player may do")
            with self._own_draws():
                move = random.choice(self._hints)
            done = self._step(move)
            event = f"The other player: {move}." if not done else event
            if not done:
                self._see()
        if not done:
            return Scene(self._board, actions=self._hints, event=event)
        self._over = True
        rewards, told = self._game.close()
        won = bool(rewards) and float(rewards.get(0, 0.0)) >= WON
        return Scene(self._board, Status.WON if won else Status.LOST, (), str(told.get(0, {}).get("reason", ""))[:500])

    def close(self) -> None:
        """See `Environment`. It holds nothing."""
        self._game = None

    @property
    def _player(self) -> int:
        return int(self._game.state.current_player_id)

    def _step(self, action: str) -> bool:
        move = action if IN_BRACKETS.search(action) else f"[{action.strip()}]"
        with self._own_draws():
            done, _ = self._game.step(move)
        return bool(done)

    def _see(self) -> str:
        """Takes what is new in: the board, what may be done, and what was said beside them."""
        _, seen = self._game.get_observation()
        said: list[str] = []
        for _, message, kind in seen:
            match kind.name:
                case "GAME_BOARD":
                    self._board = str(message).strip()
                case "PROMPT":
                    self._prompt = self._prompt or str(message).strip()
                case "PLAYER_ACTION":
                    pass
                case _:
                    said.append(str(message).strip())
        listed = LISTED.search(self._board) or LISTED.search(self._prompt)
        self._hints = tuple(dict.fromkeys(IN_BRACKETS.findall(listed[1]))) if listed else ()
        return " ".join(said)[-500:]

    @contextmanager
    def _own_draws(self) -> Generator[None]:
        with DRAWING:
            before = random.getstate()
            random.setstate(self._state)
            try:
                yield
            finally:
                self._state = random.getstate()
                random.setstate(before)
