"""What a command refuses from its words alone, before it imports what would do the work, and how it then imports that.

Nothing here loads LangGraph, SQLAlchemy or a model's client.
"""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundwire.core._paths import expand_user

if TYPE_CHECKING:
    from groundwire.core._settings import Settings


@contextmanager
def loading() -> Generator[None]:
    """For the imports of a command: thousands of classes are made that all stay, and looking through them for garbage
    again and again is a tenth of the time. What was loaded is left out of every later collection."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


@loading()
def settled(flags: Mapping[str, Any], *, project: Path | None = None) -> Settings:
    """The settings; the database's URL, the sandbox and the model's form are right as far as their text tells.

    Args:
        flags: from the command line; a value of None was not given.
        project: folder whose pyproject.toml is read.

    Raises:
        ConfigError: something is wrong.
    """
    from groundwire.core._settings import Settings

    settings = Settings.resolve(flags, project=project)
    if settings.db is not None:
        from groundwire.memory._place import check_form as check_database

        check_database(settings.db)
    if settings.sandbox is not None:
        from groundwire.sandbox._choosing import check_kind

        check_kind(settings.sandbox)
    if settings.model:
        from groundwire.models._choice import check_form as check_model

        check_model(settings.model)
    return settings


def check_graph(name: str) -> None:
    """Raises ConfigError where no graph of the library is called so, and it is no `FILE.py:FUNCTION` of a file here."""
    from groundwire.core._errors import ConfigError
    from groundwire.core._text import one_of
    from groundwire.graphs.library._catalogue import NAMES

    path, colon, _ = name.rpartition(":")
    if not colon:
        if name not in NAMES:
            if name.endswith(".py"):
                raise ConfigError(
                    f"{name} names no function.", do=f"Name the one that builds the graph: {name}:FUNCTION"
                )
            raise ConfigError(f"There is no graph {name!r}.", do=one_of(name, NAMES, also="FILE.py:FUNCTION"))
    elif not path.endswith(".py"):
        raise ConfigError(f"{path} is not a Python file.", do="Name the graph as FILE.py:FUNCTION.")
    elif not expand_user(path).is_file():
        raise ConfigError(f"There is no file {path}.", do="Name one: FILE.py:FUNCTION.")


def check_folders(paths: Iterable[Path], *, do: str) -> None:
    """Raises TaskError where one of them is no folder."""
    from groundwire.core._errors import TaskError

    for path in paths:
        if not expand_user(path).is_dir():
            raise TaskError(f"{path} is not a folder.", do=do)


def check_exists(*paths: Path | None, do: str) -> None:
    """Raises ConfigError where one of them that was named is not there."""
    from groundwire.core._errors import ConfigError

    for path in paths:
        if path is not None and not expand_user(path).exists():
            raise ConfigError(f"There is no file or folder {path}.", do=do)


def check_into(*files: Path | None) -> None:
    """Raises ConfigError where a file that was named can't be made, since its folder is missing or it is a folder."""
    from groundwire.core._errors import ConfigError

    for named in files:
        file = named and expand_user(named)
        if file is not None and (file.is_dir() or not file.parent.is_dir()):
            why = "it is a folder" if file.is_dir() else f"there is no folder {file.parent}"
            raise ConfigError(f"{named} can't be written: {why}.", do="Name another file.")
