"""A world of the user's own, named on the command line: `file.py:Maze` or `package.module:Maze`.

Its code runs in this process with the user's rights, as every program does that they start. So it is only ever named
by the user: no model, project, lesson or remote world can name one.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from groundwire.errors import ConfigError, GroundwireError
from groundwire.tools.environments.world import World

__all__ = ["import_from_here", "own_world"]

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
    module = _imported(place)
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
    except GroundwireError:
        raise
    except Exception as error:
        raise ConfigError(f"{name} can't be made: {type(error).__name__}: {error!s:.300}", do=FORM) from error
    lacks = [each for each in ("reset", "act", "close") if not callable(getattr(made, each, None))]
    if lacks:
        raise ConfigError(f"{name} is no world: it has no {' and no '.join(lacks)}.", do=FORM)
    made.close()


def _imported(place: str) -> ModuleType:
    try:
        return _from_file(Path(place).expanduser()) if place.endswith(".py") else import_from_here(place)
    except ConfigError:
        raise
    except Exception as error:
        what = f"{place} can't be imported: {type(error).__name__}: {error!s:.300}"
        raise ConfigError(what, do="Repair it, or name another: FILE.py:NAME or MODULE:NAME.") from error


def _from_file(file: Path) -> ModuleType:
    spec = spec_from_file_location(file.stem, file)
    if not file.is_file() or spec is None or spec.loader is None:
        raise ConfigError(f"There is no file {file}.", do="Name one: FILE.py:NAME.")
    module = module_from_spec(spec)
    before = sys.modules.get(spec.name)
    # dataclasses look their module up by its name; a module of the same name keeps its place
    sys.modules.setdefault(spec.name, module)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if before is None:
            del sys.modules[spec.name]
        raise
    return module


def import_from_here(place: str) -> ModuleType:
    """Imports a module that is installed, or lies in the folder that the program was started in."""
    here = str(Path.cwd())
    if here not in sys.path:  # last, so that nothing in this folder stands in for an installed module
        sys.path.append(here)
    return import_module(place)
