"""The graph that a command line names: one of the library, or a function in a file of the user's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from typing_extensions import is_protocol

from groundwire.agents.patching._stubs import find_stub
from groundwire.agents.width._answers import FunctionBody, TextAnswer
from groundwire.agents.width._many_samples import ManySamples, NamedFunction
from groundwire.agents.width._sampling import Asking
from groundwire.agents.width.controls._self_refine import SelfRefine
from groundwire.benchmarks.answers._key import ANSWER, is_question
from groundwire.cli._checks import check_graph
from groundwire.cli._parts import GraphParts
from groundwire.core._contexts import Actor, Tool
from groundwire.core._errors import ConfigError, GroundwireError, TaskError
from groundwire.core._models import Backend
from groundwire.core._paths import expand_user
from groundwire.core._tasks import Task
from groundwire.core._user_code import user_module
from groundwire.graphs import FeedbackGraph
from groundwire.graphs.library._catalogue import builder
from groundwire.graphs.library._self_refine import self_refine
from groundwire.integrations.harbor._task import is_harbor_task
from groundwire.tools._every_test import EveryTest

Builder = Callable[..., Any]
PARTS = frozenset({"actor", "critic", "judge", "hidden"})
OFFERED = "actor, critic, judge, hidden, task, width, model, seed, select, baseline"


SAMPLES = "samples"
"""What `groundwire improve` draws samples by where no graph is named; it is for counting, and repairs nothing."""


def builder_of(name: str) -> Builder:
    """The function that makes the graph: `code_repair`, or `FILE.py:FUNCTION`, whose file is imported here.

    Raises:
        ConfigError: there is no such graph, file or function, or the file can't be imported.
    """
    if name == SAMPLES:
        return samples
    check_graph(name)
    path, colon, function = name.rpartition(":")
    if not colon:
        return builder(name)
    found = getattr(user_module(path, form="FILE.py:FUNCTION"), function, None)
    if not callable(found):
        raise ConfigError(f"{path} has no function {function!r}.", do="Name one that returns a FeedbackGraph.")
    return found


def samples(
    model: Backend,
    actor: Actor,
    judge: Tool,
    hidden: Tool,
    task: Task,
    width: int,
    *,
    temperature: float,
    answer_tokens: int,
    opinions: bool = False,
) -> FeedbackGraph:
    """`width` answers of a model to each task by one call, every one judged by all the tests that there are.

        write ──► judge ──► end

    Args:
        model: what answers.
        actor: asks it where a project is to be repaired; a function that is to be written, or a file, needs none.
        judge: the visible tests.
        hidden: the hidden ones.
        task: the task.
        width: samples.
        temperature: of each.
        answer_tokens: of each.
        opinions: the model's own word on each sample is asked for too (`ManySamples`).
    """
    asking = _asking_of(task)
    if asking is not None:
        actor = ManySamples(model, asking, temperature=temperature, max_tokens=answer_tokens, opinions=opinions)
    elif opinions:
        raise ConfigError(
            f"A model's word on its own samples is asked for programs of one function or file, and {task.id} is none.",
            do="Use another arm, or other tasks.",
        )
    graph = FeedbackGraph(name=SAMPLES)
    graph.add_actor("write", actor, width=width)
    graph.add_tool("judge", EveryTest(judge, hidden if task.hidden is not None else None))
    return graph.add_edge("write", "judge")


def kind_of_samples(task: Task) -> tuple[str, ...] | None:
    """What tasks have in common that one compiled graph of `samples` does for; None: this one wants its own."""
    asking = None if is_question(task) or is_harbor_task(task) else _asking_of(task)
    if asking is None:
        return None
    hidden = () if task.hidden is None else ("hidden", *task.hidden.command)
    return (type(asking).__name__, *task.command, *hidden)


def _asking_of(task: Task) -> Asking | None:
    if is_question(task):
        return TextAnswer(ANSWER)
    try:
        find_stub(task)
    except TaskError:
        return NamedFunction() if NamedFunction.asked_by(task) else None
    return FunctionBody()


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
    return {**parts.builder_arguments(task), "task": task, **options}


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
