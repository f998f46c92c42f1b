"""A world of the user's own, named on the command line: `file.py:Maze` or `package.module:Maze`."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from groundwire.core._errors import ConfigError, GroundwireError
from groundwire.core._user_code import user_module
from groundwire.tools.environments._world import World

FORM = "Name a World, a class with reset(seed), act(action) and close(), or a function that makes one."


def own_world(name: str) -> World:
    """The world of that name; its module is imported.

    Args:
        name: `FILE.py:ATTRIBUTE` or `MODULE:ATTRIBUTE`: a `World`, what makes an `Environment` without arguments, or a
            class of Gymnasium's `Env`.

    Raises:
        ConfigError: there is no such file, module or attribute, it can't be imported, or it is no world.
    """
    place, _, attribute = name.rpartition(":")
    module = user_module(place, form="FILE.py:NAME or MODULE:NAME")
    found: Any = getattr(module, attribute, None)
    if found is None:
        names = [each for each in vars(module) if not each.startswith("_")]
        close = difflib.get_close_matches(attribute, names, n=3)
        raise ConfigError(
            f"{place} has no {attribute!r:.60}.", do=f"Did you mean {' or '.join(close)}?" if close else FORM
        )
    if isinstance(found, World):
        return found
    if not callable(found):
        raise ConfigError(f"{name} is no world: it is of type {type(found).__name__}.", do=FORM)
    make = _maker(found)
    _check(name, make)
    lines = (getattr(found, "__doc__", None) or "").strip().splitlines()
    return World(
        name=f"{Path(place).stem if place.endswith('.py') else place}:{attribute}",
        make=make,
        about=lines[0] if lines else "",
    )


def _maker(found: Callable[[], Any]) -> Callable[[], Any]:
    gymnasium = sys.modules.get("gymnasium")  # whoever has written an `Env` has imported it
    if gymnasium is None or not isinstance(found, type) or not issubclass(found, gymnasium.Env):
        return found
    from groundwire.tools.environments.gymnasium import GymnasiumEnvironment

    return lambda: GymnasiumEnvironment(found)


def _check(name: str, make: Callable[[], Any]) -> None:
    try:
        made = make()
        lacks = [each for each in ("reset", "act", "close") if not callable(getattr(made, each, None))]
        if not lacks:
            made.close()
    except GroundwireError:
        raise
    except Exception as error:
        raise ConfigError(f"{name} can't be made: {type(error).__name__}: {error!s:.300}", do=FORM) from error
    if lacks:
        raise ConfigError(f"{name} is no world: it has no {' and no '.join(lacks)}.", do=FORM)
