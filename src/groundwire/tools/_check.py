"""A function of yours as a tool: what it says of a candidate is the verdict.

It runs in this process, as the user, so it may look at a candidate and must never run one: what runs code belongs into
the sandbox (`Pytest`, `Command`).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast, overload

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ToolContext
from groundwire.core._errors import ConfigError, ToolError
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Observation, Origin, Verdict
from groundwire.core._tasks import Task
from groundwire.core._toolcalls import answer_of

Said: TypeAlias = bool | float | str | Observation
"""What a check may say: right or wrong; a score; what is wrong, empty where nothing is; or a whole observation."""
CheckFunction: TypeAlias = (
    Callable[[Candidate], Said | Awaitable[Said]] | Callable[[Candidate, Task], Said | Awaitable[Said]]
)
MESSAGE_CHARS = 4000
UNNAMED = "check"
"""The name of a check that is a lambda."""
FORMS = "True or False, a number, what is wrong in words ('' where nothing is), or an Observation"


class Check:
    """Judges candidates by a function, sync or async.

        Check(lambda candidate: candidate.text.isupper())
        Check(lambda candidate: len(candidate.text.split()), at_least=100)
        Check(lambda candidate: Invoice.model_validate_json(candidate.text) and True, fails_on=ValidationError)

    What the function raises is an error of yours and never a verdict, but for what `fails_on` names; None is no verdict
    either, since a function that forgot to return would pass everything.

    Args:
        function: gets the candidate, and the task where it takes two arguments; gives True or False; a number, which
            is a score; what is wrong, in words that the actor and the critic are shown, empty where nothing is; or a
            whole `Observation`.
        at_least: the least score that passes.
        fails_on: exceptions that are a FAIL, with their text as the message. Such a function need not return anything:
            not raising is a PASS.
        oracle: True if it knows the right answer: actors are told no more than that theirs is wrong, and every report
            says that the key was used.
        name: of the case in reports; default: the function's own.

    Raises:
        ConfigError: it is no function, takes other arguments, or `fails_on` names what is no exception.
    """

    @overload
    def __init__(
        self,
        function: Callable[[Candidate], Said | Awaitable[Said]],
        *,
        at_least: float = ...,
        oracle: bool = ...,
        name: str = ...,
    ) -> None: ...

    @overload
    def __init__(
        self,
        function: Callable[[Candidate, Task], Said | Awaitable[Said]],
        *,
        at_least: float = ...,
        oracle: bool = ...,
        name: str = ...,
    ) -> None: ...

    @overload
    def __init__(
        self,
        function: Callable[[Candidate], object] | Callable[[Candidate, Task], object],
        *,
        fails_on: type[Exception] | tuple[type[Exception], ...],
        at_least: float = ...,
        oracle: bool = ...,
        name: str = ...,
    ) -> None: ...

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        at_least: float = 1.0,
        fails_on: type[Exception] | tuple[type[Exception], ...] = (),
        oracle: bool = False,
        name: str = "",
    ) -> None:
        self._with_task = _takes_task(function)
        self._function = function
        self._at_least = at_least
        self._fails_on = _exceptions(fails_on)
        self._oracle = oracle
        self.name = name or _name_of(function)

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `Tool`.

        Raises:
            ToolError: the function said what is no verdict.
            Exception: what it raises, but for `fails_on`.
        """
        try:
            said = self._function(candidate, task) if self._with_task else self._function(candidate)
            said = await said if inspect.isawaitable(said) else said
        except self._fails_on as error:
            return self._observed(False, str(error) or type(error).__name__)
        if isinstance(said, Observation):
            return said
        if self._fails_on and not isinstance(said, bool | int | float | str):
            return self._observed(True, "nothing was raised")
        return self._observed(*verdict_in(said, self._at_least, self.name))

    def _observed(self, right: bool, message: str) -> Observation:
        return observed(self.name, right, message, oracle=self._oracle, holds=f"{self.name} holds")


def verdict_in(said: object, at_least: float, name: str) -> tuple[bool, str]:
    """Whether what a check said is a PASS, and its words.

    Raises:
        ToolError: it is no verdict.
    """
    if isinstance(said, bool):
        return said, "" if said else f"{name} says no"
    if isinstance(said, str):
        return not said.strip(), said
    if isinstance(said, int | float) and not math.isnan(said):
        return said >= at_least, f"score {said:g}; at least {at_least:g} is asked for"
    who = "The check" if name == UNNAMED else f"The check {name}"
    raise ToolError(
        f"{who} gave {said!r:.80}, which is no verdict.",
        do=f"Return {FORMS}; a function that only raises:  Check({name}, fails_on=AssertionError)",
    )


def observed(name: str, right: bool, message: str, *, oracle: bool, holds: str) -> Observation:
    """What a function said of a candidate, as a tool's observation with one case.

    Args:
        name: the case's.
        right: whether it passes.
        message: the function's words; of a FAIL, for the actor.
        oracle: see `Check`.
        holds: what stands where a PASS has no words.
    """
    message = message[:MESSAGE_CHARS]
    case = CaseOutcome(
        id=name, result=CaseResult.PASSED if right else CaseResult.FAILED, message="" if right else message
    )
    return Observation(
        verdict=Verdict.PASS if right else Verdict.FAIL,
        origin=Origin.VERIFIER,
        oracle=oracle,
        evidence=Evidence(cases=(case,), detail=message or holds),
    )


def _takes_task(function: Callable[..., Any]) -> bool:
    if not callable(function):
        raise ConfigError(
            f"Check got {type(function).__name__}, which can't be called.",
            do="Give it a function of the candidate:  Check(lambda candidate: candidate.text.isupper())",
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return False  # some built-in functions say nothing of themselves
    for arguments in (1, 2):
        try:
            signature.bind(*range(arguments))
        except TypeError:
            continue
        return arguments == 2
    raise ConfigError(
        f"Check can't call {_name_of(function)}{signature}.",
        do="Let it take the candidate, or the candidate and the task:  def check(candidate, task): …",
    )


def _exceptions(given: object) -> tuple[type[Exception], ...]:
    kinds = cast("tuple[object, ...]", given) if isinstance(given, tuple) else (given,)
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise ConfigError(f"fails_on names {kind!r:.80}.", do="Name exceptions:  fails_on=(ValueError, KeyError)")
    return cast("tuple[type[Exception], ...]", kinds)


def _name_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return UNNAMED if name == "<lambda>" else name


# A function as the judge of the answer that a sequence of calls ends with.

CASE = "answer"


class AnswerCheck:
    """Judges the answer that a sequence of calls ends with, by plain code.

    Args:
        check: gets the answer; gives True or False, or why it is wrong in words for the actor, empty where it is right.
        oracle: True if it knows the right answer: the actor is told no more than that its own is wrong, and every
            report says that the key was used.
    """

    def __init__(self, check: Callable[[str], bool | str], *, oracle: bool = False) -> None:
        self._check = check
        self._oracle = oracle

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        said = self._check(answer_of(candidate))
        right = said if isinstance(said, bool) else not said
        message = "" if right else said if isinstance(said, str) else "the answer is wrong"
        return observed(CASE, right, message, oracle=self._oracle, holds="the answer holds")
