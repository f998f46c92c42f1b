"""The graph that a command line names: one of the library, or a function in a file of the user's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from groundwire.cli.kit import Kit
from groundwire.errors import ConfigError, GroundwireError
from groundwire.graphs import FeedbackGraph
from groundwire.graphs.library.catalogue import NAMES, card, cards
from groundwire.tasks import Task

__all__ = ["Builder", "builder_of", "built", "full_name", "ungrounded_builder"]

Builder = Callable[..., Any]
OFFERED = "actor, critic, judge, hidden, width, model, seed, select, baseline"


def builder_of(name: str) -> Builder:
    """The function that makes the graph: `code_repair`, or `FILE.py:FUNCTION`, whose file is imported here.

    Raises:
        ConfigError: there is no such graph, file or function, or the file can't be imported.
    """
    path, colon, function = name.rpartition(":")
    if not colon:
        return _of_library(name)
    found = getattr(_imported(Path(path).expanduser()), function, None)
    if not callable(found):
        raise ConfigError(f"{path} has no function {function!r}.", do="Name one that returns a FeedbackGraph.")
    return found


def full_name(name: str) -> str:
    """The same, with a path that holds from any folder."""
    path, colon, function = name.rpartition(":")
    return f"{Path(path).expanduser().resolve()}:{function}" if colon else name


def ungrounded_builder(kit: Kit, task: Task) -> Builder:
    """The first control of the library that nothing outside steers, and that can be made of these parts.

    Raises:
        ConfigError: the library has none.
    """
    for one in cards():
        if not one.grounded:
            builder = _of_library(one.name)
            if not _missing(builder, _offered(kit, task, {})):
                return builder
    raise ConfigError(
        "The library holds no ungrounded control that these parts can make.",
        do="Leave --ungrounded out; --control alone runs blind resampling.",
    )


def built(builder: Builder, kit: Kit, task: Task, options: Mapping[str, Any]) -> FeedbackGraph:
    """A graph for one task.

    Args:
        builder: is given what its parameters ask for, by name.
        kit: the parts.
        task: whose command chooses the judge.
        options: further parameters (`select`, `baseline`), given where the builder has them.

    Raises:
        ConfigError: it asks for something else, fails, or returns something else.
    """
    offered = _offered(kit, task, options)
    name = getattr(builder, "__name__", "the graph")
    if missing := _missing(builder, offered):
        raise ConfigError(
            f"{name} needs {', '.join(missing)}, which no command line can give.",
            do=f"Write a function that fills it in, and name it FILE.py:FUNCTION; it may ask for {OFFERED}.",
        )
    wanted = inspect.signature(builder).parameters
    try:
        graph = builder(**{key: value for key, value in offered.items() if key in wanted})
    except GroundwireError:
        raise
    except Exception as error:  # a user's own code may raise anything
        raise ConfigError(f"{name} failed: {type(error).__name__}: {error}.") from error
    if not isinstance(graph, FeedbackGraph):
        raise ConfigError(
            f"{name} returned {type(graph).__name__}.",
            do="Return the FeedbackGraph; it is compiled here, with a ledger.",
        )
    return graph


def _offered(kit: Kit, task: Task, options: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**kit.parts(task), "allow_ungrounded": True, **options}


def _missing(builder: Builder, offered: Mapping[str, Any]) -> list[str]:
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(builder).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind not in free and p.name not in offered]


def _of_library(name: str) -> Builder:
    if name not in NAMES:
        raise ConfigError(
            f"There is no graph {name!r}.", do=f"Choose one of {', '.join(NAMES)}, or name FILE.py:FUNCTION."
        )
    return getattr(import_module(f"groundwire.graphs.library.{name}"), card(name).name)


def _imported(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigError(f"There is no file {path}.", do="Name the graph as FILE.py:FUNCTION.")
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path} is no Python file.", do="Name the graph as FILE.py:FUNCTION.")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except GroundwireError:
        raise
    except Exception as error:  # a user's own file may raise anything
        raise ConfigError(f"{path} can't be imported: {type(error).__name__}: {error}.") from error
    return module
