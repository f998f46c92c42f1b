"""All worlds that can be asked for by name."""

from __future__ import annotations

import re
from importlib import import_module

from groundwire.core._errors import ConfigError
from groundwire.core._text import one_of
from groundwire.tools.environments._world import World

BUILT_IN: tuple[str, ...] = (
    "countdown",
    "crafting",
    "fiction_search",
    "game24",
    "knights_and_knaves",
    "maze",
    "sokoban",
    "sudoku",
    "sudoku_9",
)
"""The modules of `worlds/`; a world's name is its module's, with `-` for `_`."""

ADAPTED = (
    "FrozenLake-v1",
    "Taxi-v4",
    "CliffWalking-v1",
    "Blackjack-v1",
    *(f"textworld:{n}" for n in ("easy", "medium", "hard")),
)
OWN = re.compile(r"(?:.+\.py|[A-Za-z_][\w.]*):[A-Za-z_]\w*(?:\?.*)?")
FORMS = (
    "any other Gymnasium id, alfworld:FOLDER, reasoning-gym:NAME, textarena:NAME, https://…, or FILE.py:NAME for your"
    " own"
)


def world(name: str) -> World:
    """The world of that name. See docs/environments.md.

    Args:
        name: a built-in world's; a Gymnasium id (`FrozenLake-v1`, `gymnasium:FrozenLake-v1?is_slippery=False`);
            `textworld:easy`, `textworld:rooms=3,objects=4,quest=3` or `textworld:GAME.z8`; `alfworld:FOLDER`;
            `reasoning-gym:zebra_puzzles`; `textarena:2048-v0`; an address (`https://…`); or `FILE.py:NAME` and
            `MODULE:NAME` for your own, whose code is run, with `?won_if=RULE` where it is an `Env` of Gymnasium.

    Raises:
        ConfigError: there is none of that name, or its library is not installed.
    """
    module = name.replace("-", "_")
    if module in BUILT_IN:
        found = import_module(f"groundwire.tools.environments.worlds._{module}").WORLD
        assert isinstance(found, World)
        return found
    if adapted := _adapted(name):
        return adapted
    known = [*(each.replace("_", "-") for each in BUILT_IN), *ADAPTED]
    raise ConfigError(f"There is no world called {name!r:.80}.", do=one_of(name, known, also=FORMS))


def _adapted(name: str) -> World | None:
    """A world that is not ours, by the form of its name. Each adapter is imported only when it is asked for."""
    kind, _, rest = name.partition(":")
    match kind:
        case "textworld":
            from groundwire.tools.environments._textworld import textworld_world

            return textworld_world(rest)
        case "alfworld":
            from groundwire.tools.environments._alfworld import alfworld_world

            return alfworld_world(rest)
        case "reasoning-gym":
            from groundwire.tools.environments._reasoning_gym import reasoning_gym_world

            return reasoning_gym_world(rest)
        case "textarena":
            from groundwire.tools.environments._textarena import textarena_world

            return textarena_world(rest)
        case "http" | "https":
            from groundwire.tools.environments.http import http_world

            return http_world(name)
        case _:
            pass
    from groundwire.tools.environments.gymnasium import gymnasium_world, looks_like_an_id

    if kind == "gymnasium" or looks_like_an_id(name):
        return gymnasium_world(rest if kind == "gymnasium" else name)
    if OWN.fullmatch(name):
        from groundwire.tools.environments._own import own_world

        return own_world(name)
    return None
