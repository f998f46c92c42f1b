"""Plain functions as actors and critics, sync or async.

    def write(context: ActorContext) -> str:
        return ask_somebody(context.task.prompt, context.failing)

One that is not async runs in a thread, so that it holds up no other episode; a model that it asks by itself is in no
ledger and no budget, which only `await context.call(backend, request)` knows of.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, CriticContext, Reflection
from groundwire.core._errors import CandidateError, ConfigError
from groundwire.core._tasks import Task
from groundwire.core._traits import ActorTraits, CriticTraits

Proposal: TypeAlias = str | bytes | Mapping[str, str | bytes | None] | Candidate
"""The answer's text; texts by their paths, None for a file that goes; or a candidate as it is."""
Proposals: TypeAlias = Proposal | Sequence[Proposal] | None
ActorFunction: TypeAlias = Callable[[ActorContext], Proposals | Awaitable[Proposals]]
CriticFunction: TypeAlias = Callable[[CriticContext], str | Reflection | Awaitable[str | Reflection]]


class FunctionActor:
    """Proposes what a function gives; None or an empty list where nothing is left to propose.

    Args:
        function: gets the context; its attribute `traits`, where it has one, is the actor's.

    Raises:
        ConfigError: it takes other arguments.
    """

    def __init__(self, function: ActorFunction) -> None:
        self.traits = ActorTraits.of(function)
        self._function = _of_one_argument(function, "actor", "context")

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`.

        Raises:
            CandidateError: the function gave something else, or a path that may not be.
            TaskError: it gave one text, and the task has no one file for it.
        """
        said = await _called(self._function, context)
        several = cast("Sequence[object]", said) if isinstance(said, list | tuple) else (said,)
        made = [candidate_of(one, context.task, self._function) for one in several if one is not None]
        return made[:n]


class FunctionCritic:
    """Reflects as a function does.

    Args:
        function: gets the context, and gives the reflection or its text.

    Raises:
        ConfigError: it takes other arguments.
    """

    def __init__(self, function: CriticFunction) -> None:
        self.traits = CriticTraits.of(function)
        self._function = _of_one_argument(function, "critic", "context")

    async def reflect(self, context: CriticContext) -> Reflection:
        """See `Critic`.

        Raises:
            CandidateError: the function gave something else.
        """
        said = await _called(self._function, context)
        if isinstance(said, Reflection):
            return said
        if isinstance(said, str):
            return Reflection(said, by=name_of(self._function))
        raise CandidateError(
            f"The critic {name_of(self._function)} gave {said!r:.80}.", do="Return the reflection's text."
        )


def candidate_of(proposal: object, task: Task, by: object) -> Candidate:
    """A candidate out of what a function proposes.

    Args:
        proposal: see `Proposal`.
        task: whose.
        by: the function, for the error.

    Raises:
        CandidateError: it is something else, or a path that may not be.
        TaskError: it is one text, and the task has no one file for it.
    """
    if isinstance(proposal, Candidate):
        return proposal
    if isinstance(proposal, str | bytes):
        return Candidate(task.tree.digest, {task.answer_file: _as_bytes(proposal)}, note=name_of(by))
    if isinstance(proposal, Mapping):
        files = cast("Mapping[object, object]", proposal)
        if all(isinstance(k, str) and isinstance(v, str | bytes | None) for k, v in files.items()):
            texts = cast("Mapping[str, str | bytes | None]", files)
            changes = {path: None if text is None else _as_bytes(text) for path, text in texts.items()}
            _check_paths(changes, task, by)
            return Candidate(task.tree.digest, changes, note=name_of(by))
    raise CandidateError(
        f"The actor {name_of(by)} gave {proposal!r:.80}, which is no proposal.",
        do='Return the answer\'s text, texts by their paths ({"a.py": "…"}), a Candidate, or a list of these.',
    )


def _check_paths(changes: Mapping[str, object], task: Task, by: object) -> None:
    refused = [path for path in changes if not task.may_edit(path)]
    if refused:
        raise CandidateError(
            f"The actor {name_of(by)} changes {refused[0]!r}, which the task does not let a candidate edit.",
            do="Change other files, or allow this one:  Task.of(…, editable=[…])",
        )


def name_of(function: object) -> str:
    """What people call a function."""
    name = getattr(function, "__name__", type(function).__name__)
    return "a function" if name == "<lambda>" else str(name)


def _as_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def _of_one_argument(function: Callable[..., Any], what: str, argument: str) -> Callable[..., Any]:
    try:
        signature = inspect.signature(function)
        signature.bind(None)
    except ValueError:
        return function  # some built-in functions say nothing of themselves
    except TypeError as error:
        raise ConfigError(
            f"{name_of(function)} can't be the {what}: it can't be called with one argument ({error}).",
            do=f"Let it take the {argument} alone:  def {what}({argument}): …",
        ) from None
    return function


async def _called(function: Callable[..., Any], context: object) -> object:
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
    if is_async:
        return await function(context)
    said = await asyncio.to_thread(function, context)
    return await said if inspect.isawaitable(said) else said
