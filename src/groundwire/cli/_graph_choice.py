"""The graph that a command line names: one of the library, or a function in a file of the user's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from typing_extensions import is_protocol

from groundwire.agents.patching._function_writer import find_stub
from groundwire.agents.width._answers import FunctionBody, TextAnswer
from groundwire.agents.width._sampling import Asking
from groundwire.agents.width.controls._self_refine import SelfRefine
from groundwire.benchmarks.answers._key import ANSWER, is_question
from groundwire.cli._checks import check_graph
from groundwire.cli._parts import GraphParts
from groundwire.core._errors import ConfigError, GroundwireError
from groundwire.core._paths import expand_user
from groundwire.core._tasks import Task
from groundwire.core._user_code import user_module
from groundwire.graphs import FeedbackGraph
from groundwire.graphs.library._catalogue import builder
from groundwire.graphs.library._self_refine import self_refine

Builder = Callable[..., Any]
PARTS = frozenset({"actor", "critic", "judge", "hidden"})
OFFERED = "actor, critic, judge, hidden, width, model, seed, select, baseline"


def builder_of(name: str) -> Builder:
    """The function that makes the graph: `code_repair`, or `FILE.py:FUNCTION`, whose file is imported here.

    Raises:
        ConfigError: there is no such graph, file or function, or the file can't be imported.
    """
    check_graph(name)
    path, colon, function = name.rpartition(":")
    if not colon:
        return builder(name)
    found = getattr(user_module(path, form="FILE.py:FUNCTION"), function, None)
    if not callable(found):
        raise ConfigError(f"{path} has no function {function!r}.", do="Name one that returns a FeedbackGraph.")
    return found


def full_name(name: str) -> str:
    """The same, with a path that holds from any folder."""
    path, colon, function = name.rpartition(":")
    return f"{expand_user(path).resolve()}:{function}" if colon else name


def self_refine_of(parts: GraphParts, task: Task) -> FeedbackGraph:
    """The ungrounded control of a task: the model goes back over its own answer, and no signal asks it to.

    Raises:
        ConfigError: no model is named.
        TaskError: the task is neither a question nor a function to be written, which is what the control can ask for.
    """
    if parts.backend is None:
        raise ConfigError("Self-Refine needs a model.", do="Name one with --model, or leave --ungrounded out.")
    if is_question(task):
        asking: Asking = TextAnswer(ANSWER)
    else:
        find_stub(task)
        asking = FunctionBody()
    actor = SelfRefine(parts.backend, asking)
    return self_refine(actor, parts.judge(task), hidden=parts.hidden(task), width=parts.width, allow_ungrounded=True)


def built(builder: Builder, parts: GraphParts, task: Task, options: Mapping[str, Any]) -> FeedbackGraph:
    """A graph for one task.

    Args:
        builder: is given what its parameters ask for, by name.
        parts: the parts.
        task: whose command chooses the judge.
        options: further parameters (`select`, `baseline`), given where the builder has them.

    Raises:
        ConfigError: it asks for something else, fails, or returns something else.
    """
    offered = _offered(parts, task, options)
    name = getattr(builder, "__name__", "the graph")
    if missing := _missing(builder, offered):
        raise ConfigError(
            f"{name} needs {', '.join(missing)}, which no command line can give.",
            do=f"Write a function that fills it in, and name it FILE.py:FUNCTION; it may ask for {OFFERED}.",
        )
    wanted = inspect.signature(builder).parameters
    if unknown := sorted(options.keys() - wanted.keys() - {"select", "baseline"}):
        raise ConfigError(
            f"{name} has no parameter {unknown[0]}, and was given --{unknown[0].replace('_', '-')}.",
            do="Leave it out, or let the function ask for it.",
        )
    given = {key: value for key, value in offered.items() if key in wanted}
    _check_kinds(builder, given)
    try:
        graph = builder(**given)
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


def _offered(parts: GraphParts, task: Task, options: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**parts.builder_arguments(task), **options}


def _check_kinds(builder: Builder, given: Mapping[str, Any]) -> None:
    """Refuses a graph that is made for an actor of its own and would be given another one."""
    try:
        hints = get_type_hints(builder)
    except (NameError, TypeError):  # what it names is only there for type checkers
        return
    for name, value in given.items():
        kind = hints.get(name)
        if inspect.isclass(kind) and not is_protocol(kind) and name in PARTS and not isinstance(value, kind):
            raise ConfigError(
                f"{getattr(builder, '__name__', 'The graph')} needs a {kind.__name__} as its {name}, which no command"
                f" line can give.",
                do="Write a function that makes both, and name it FILE.py:FUNCTION.",
            )


def _missing(builder: Builder, offered: Mapping[str, Any]) -> list[str]:
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(builder).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind not in free and p.name not in offered]
