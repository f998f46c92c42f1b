"""Puzzles of Reasoning Gym by name: `reasoning-gym:zebra_puzzles?num_people=4`. One answer, judged by the puzzle.

Source: https://github.com/open-thought/reasoning-gym (arXiv 2505.24760): over a hundred generators by seed. Some
compare with a key and some check whatever is answered, so all count as judged by a key.
"""

from __future__ import annotations

import ast
import difflib
from typing import Any

from groundwire.core._errors import ConfigError
from groundwire.core._scene import Scene, Status
from groundwire.tools.environments._world import World, options_in

EXTRA = 'pip install "groundwire[worlds]"'
FULL = 1.0
"""The score of a right answer; less is given for a form that is nearly right, and is no win."""


def reasoning_gym_world(name: str) -> World:
    """The world of one of its puzzles.

    Args:
        name: `NAME` or `NAME?option=value&…`; the options are the generator's own.

    Raises:
        ConfigError: Reasoning Gym is not installed, has no such puzzle, or not with these options.
    """
    gym = _gym()
    puzzle, _, written = name.partition("?")
    known = list(gym.factory.DATASETS)
    if puzzle not in known:
        close = difflib.get_close_matches(puzzle, known, n=3)
        do = f"Did you mean {' or '.join(close)}?" if close else "Its names:  reasoning_gym.factory.DATASETS"
        raise ConfigError(f"Reasoning Gym has no puzzle {puzzle!r:.60}.", do=do)
    options = {key: _value(value) for key, value in options_in(written).items()}
    try:
        gym.create_dataset(puzzle, seed=0, size=1, **options)
    except Exception as error:  # a stranger's checks of its own options
        said = f"{puzzle} can't be made with these options: {type(error).__name__}: {error!s:.200}"
        raise ConfigError(said, do="See its configuration at Reasoning Gym.") from error
    return World(
        name=f"reasoning-gym:{name}",
        make=lambda: ReasoningGymEnvironment(puzzle, options),
        prompt="Solve the puzzle. There is one action: the whole answer.",
        actions=1,
        repeats=None,
        about=f"Reasoning Gym's {puzzle}",
    )


def _gym() -> Any:
    try:
        import reasoning_gym  # pyright: ignore[reportMissingImports]  # an extra
    except ImportError as error:
        raise ConfigError("Reasoning Gym is not installed.", do=EXTRA) from error
    return reasoning_gym


def _value(text: str) -> object:
    try:
        return ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # as `literal_eval` documents
        return text


class ReasoningGymEnvironment:
    """One puzzle a seed.

    Args:
        puzzle: the generator's name.
        options: its own.
    """

    oracle = True

    def __init__(self, puzzle: str, options: dict[str, object]) -> None:
        self._puzzle = puzzle
        self._options = options
        self._dataset: Any = None
        self._item: Any = None

    def reset(self, seed: int) -> Scene:
        """See `Environment`."""
        self._dataset = _gym().create_dataset(self._puzzle, seed=seed, size=1, **self._options)
        self._item = self._dataset[0]
        return Scene(self._text)

    def act(self, action: str) -> Scene:
        """See `Environment`. The first answer is the last."""
        if self._item is None:
            raise RuntimeError("the world was not begun: call reset(seed) first")
        score = float(self._dataset.score_answer(action.strip(), self._item))
        text, self._item = self._text, None
        return Scene(text, Status.WON if score >= FULL else Status.LOST, (), f"Score {score:g} of {FULL:g}.")

    def close(self) -> None:
        """See `Environment`. It holds nothing."""
        self._dataset = None

    @property
    def _text(self) -> str:
        return str(self._item["question"]).strip()
