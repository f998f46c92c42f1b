"""Gymnasium's spaces in words: observations as text that names the state, and actions as words."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from typing import Any, cast

from groundwire.core._errors import ConfigError
from groundwire.core._scenes import HINTS, SCENE_CHARS

DIGITS = 3
"""After the point, of a number that is shown."""


@dataclass(frozen=True)
class ActionWords:
    """The actions of a space.

    Args:
        form: how an action is written, for a prompt.
        hints: all of them where that is a short list, in the space's order; otherwise `()`.
        read: the space's own action for a word; a `ValueError` where there is none.
    """

    form: str
    hints: tuple[str, ...]
    read: Callable[[str], Any]


def action_words(space: Any, names: Sequence[str] = (), also: Mapping[str, str] | None = None) -> ActionWords:
    """The words for a space's actions; a number is understood as well.

    Args:
        space: Gymnasium's.
        names: of a `Discrete` space, from its first action on; otherwise its actions are called by their number.
        also: other words for these names.

    Raises:
        ConfigError: the space is neither discrete nor text.
    """
    from gymnasium import spaces

    of: Any = space  # `match` narrows `space` to a generic class whose numbers have no known type
    match space:
        case spaces.Discrete():
            return _discrete(int(of.start), int(of.n), names, also or {})
        case spaces.MultiDiscrete():
            starts = [int(each) for each in of.start.flatten()]
            return _numbers(of, [range(s, s + int(n)) for s, n in zip(starts, of.nvec.flatten(), strict=True)])
        case spaces.MultiBinary():
            return _numbers(space, [range(2)] * math.prod(space.shape))
        case spaces.Text():
            return ActionWords(f"a text of {space.min_length} to {space.max_length} characters", (), _text(space))
        case _:
            raise ConfigError(
                f"Its actions are {space!s:.80}, and only discrete ones and texts can be written as words.",
                do="Wrap it in an environment with Discrete, MultiDiscrete, MultiBinary or Text actions.",
            )


def same_word(word: str) -> str:
    """A word as it is compared: `Drop off`, `drop-off` and `dropoff` are one."""
    return "".join(c for c in word.casefold() if c.isalnum())


def _discrete(start: int, count: int, names: Sequence[str], also: Mapping[str, str]) -> ActionWords:
    end, few = start + count, count <= HINTS
    words = tuple(names) if len(names) == count else tuple(map(str, range(start, end))) if few else ()
    known = {same_word(name): start + index for index, name in enumerate(names)} if len(names) == count else {}
    known |= {same_word(other): known[same_word(name)] for other, name in also.items() if same_word(name) in known}

    def read(action: str) -> int:
        found = known.get(same_word(action))
        number = int(action) if found is None else found
        if not start <= number < end:
            raise ValueError(action)
        return number

    return ActionWords(f"one of {', '.join(words)}" if few else f"a number from {start} to {end - 1}", words, read)


def _numbers(space: Any, ranges: Sequence[range]) -> ActionWords:
    def read(action: str) -> Any:
        import numpy as np

        numbers = [int(part) for part in action.replace(",", " ").split()]
        if len(numbers) != len(ranges) or not all(n in r for n, r in zip(numbers, ranges, strict=True)):
            raise ValueError(action)
        return np.array(numbers, dtype=space.dtype).reshape(space.shape)

    few = math.prod(map(len, ranges)) <= HINTS
    hints = tuple(" ".join(map(str, each)) for each in product(*ranges)) if few else ()
    spans = ", ".join(f"{r[0]} to {r[-1]}" for r in ranges[:20])
    return ActionWords(f"{len(ranges)} numbers with spaces between them ({spans})", hints, read)


def _text(space: Any) -> Callable[[str], str]:
    def read(action: str) -> str:
        if not space.contains(action):
            raise ValueError(action)
        return action

    return read


def observation_as_text(observation: Any) -> str:
    """An observation as text: the same one always as the same text. A text as it is, all else as compact JSON with
    numbers rounded to three digits.

    Raises:
        ValueError: a number in it is none (NaN), it is not finite, or it is too much to be read.
        TypeError: there is something in it that is no observation.
    """
    text = observation if isinstance(observation, str) else json.dumps(_plain(observation), separators=(",", ":"))
    if len(text) > SCENE_CHARS:
        raise ValueError(f"an observation of {len(text)} characters is too much to be shown as text")
    return text


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        value = value.tolist()
    match value:
        case bool() | int() | str():
            return value
        case float():
            if not math.isfinite(value):
                raise ValueError(f"the observation holds {value}")
            rounded = round(value, DIGITS)
            return int(rounded) if rounded.is_integer() else rounded
        case Mapping():
            return {key: _plain(each) for key, each in _sorted(value)}
        case list() | tuple():
            return [_plain(each) for each in cast("Sequence[Any]", value)]
        case _:
            raise TypeError(f"the observation holds a {type(value).__name__}")


def _sorted(value: Any) -> list[tuple[str, Any]]:
    return sorted(((str(key), each) for key, each in value.items()), key=itemgetter(0))
