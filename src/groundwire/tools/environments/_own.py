"""A world of the user's own, named on the command line: `file.py:Maze` or `package.module:Maze`."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from groundwire.core._errors import ConfigError, GroundwireError
from groundwire.core._user_code import user_module
from groundwire.tools.environments._world import World, options_in

FORM = "Name a World, a class with reset(seed), act(action) and close(), or a function that makes one."
WON_IF = "won_if"


def own_world(name: str) -> World:
    """The world of that name; its module is imported.

    Args:
        name: `FILE.py:ATTRIBUTE` or `MODULE:ATTRIBUTE`: a `World`, what makes an `Environment` without arguments, or a
            class of Gymnasium's `Env`, or what makes one. Behind that `?won_if=RULE` says when an `Env` is won, as in
            `rule_of`.

    Raises:
        ConfigError: there is no such file, module or attribute, it can't be imported, or it is no world; or it says
            itself when it is won, and was given a rule.
    """
    named, _, written = name.partition("?")
    place, _, attribute = named.rpartition(":")
    options = options_in(written)
    won_if = options.pop(WON_IF, None)
    if options:
        raise ConfigError(f"{named} takes no option {min(options)!r:.40}.", do=f"It takes {WON_IF}, or nothing.")
    module = user_module(place, form="FILE.py:NAME or MODULE:NAME")
    found: Any = getattr(module, attribute, None)
    if found is None:
        names = [each for each in vars(module) if not each.startswith("_")]
        close = difflib.get_close_matches(attribute, names, n=3)
        raise ConfigError(
            f"{place} has no {attribute!r:.60}.", do=f"Did you mean {' or '.join(close)}?" if close else FORM
        )
    if isinstance(found, World):
        return _refuse_rule(named, won_if) or found
    if not callable(found):
        raise ConfigError(f"{name} is not a world: it is of type {type(found).__name__}.", do=FORM)
    make = _maker(named, found, won_if)
    _check(named, make)
    lines = (getattr(found, "__doc__", None) or "").strip().splitlines()
    return World(
        name=f"{Path(place).stem if place.endswith('.py') else place}:{attribute}",
        make=make,
        about=lines[0] if lines else "",
    )


def _refuse_rule(name: str, won_if: str | None) -> None:
    if won_if is not None:
        raise ConfigError(
            f"{name} is no environment of Gymnasium: it says itself when it is won.",
            do="Leave the rule for winning out.",
        )


def _maker(name: str, found: Callable[[], Any], won_if: str | None) -> Callable[[], Any]:
    gymnasium = sys.modules.get("gymnasium")  # whoever has written an `Env` has imported it
    is_class = isinstance(found, type) and gymnasium is not None and issubclass(found, gymnasium.Env)
    if gymnasium is None or not (is_class or _makes_one(found, gymnasium)):
        _refuse_rule(name, won_if)
        return found
    from groundwire.tools.environments.gymnasium import GymnasiumEnvironment

    return lambda: GymnasiumEnvironment(found, won_if=won_if)


def _makes_one(found: Callable[[], Any], gymnasium: Any) -> bool:
    """True if what it makes is an `Env`; where it makes nothing, `_check` says why."""
    if isinstance(found, type):
        return False
    try:
        made = found()
    except Exception:
        return False
    is_one = isinstance(made, gymnasium.Env)
    if is_one:
        made.close()
    return is_one


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
        raise ConfigError(f"{name} is not a world: it has no {' and no '.join(lacks)}.", do=FORM)
