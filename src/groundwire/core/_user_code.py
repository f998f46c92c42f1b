"""Code of the user's own, named on the command line by its file or its module.

It runs in this process with the user's rights, as every program does that they start. So it is only ever named by the
user: no model, project, lesson or remote world can name one.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from groundwire.core._errors import ConfigError, GroundwireError
from groundwire.core._paths import expand_user


def user_module(place: str, *, form: str) -> ModuleType:
    """Imports a file, or a module that is installed or lies in the folder that the program was started in. A file finds
    the modules that lie beside it.

    Args:
        place: `FILE.py` or `package.module`; a file is run anew each time.
        form: what may be named, for the errors: `FILE.py:NAME`.

    Raises:
        ConfigError: there is none, or it can't be imported.
        GroundwireError: as its code raised it.
    """
    file = expand_user(place)
    is_file = place.endswith(".py")
    if is_file and not file.is_file():
        raise ConfigError(f"There is no file {file}.", do=f"Name one: {form}.")
    try:
        return _from_file(file) if is_file else _from_here(place)
    except GroundwireError:
        raise
    except (Exception, SystemExit) as error:  # a user's own code may raise anything
        what = f"{place} can't be imported: {type(error).__name__}: {error!s:.300}"
        raise ConfigError(what, do=f"Fix it, or name another: {form}.") from error


def _from_file(file: Path) -> ModuleType:
    spec = spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None  # it ends in .py
    _also_from(file.parent)
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


def _from_here(place: str) -> ModuleType:
    _also_from(Path.cwd())
    return import_module(place)


def _also_from(folder: Path) -> None:
    """Lets modules of a folder be imported; last, so that nothing in it stands in for an installed module."""
    place = str(folder.resolve())
    if place not in sys.path:
        sys.path.append(place)
