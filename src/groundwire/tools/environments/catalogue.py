"""All worlds that can be asked for by name."""

from __future__ import annotations

from importlib import import_module

from groundwire.errors import ConfigError
from groundwire.tools.environments.world import World

__all__ = ["BUILT_IN", "world"]

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


def world(name: str) -> World:
    """The world of that name.

    Args:
        name: a built-in world's.

    Raises:
        ConfigError: there is none of that name.
    """
    module = name.replace("-", "_")
    if module not in BUILT_IN:
        known = ", ".join(each.replace("_", "-") for each in BUILT_IN)
        raise ConfigError(f"There is no world called {name!r:.80}.", do=f"Use one of {known}.")
    found = import_module(f"groundwire.tools.environments.worlds.{module}").WORLD
    assert isinstance(found, World)
    return found
