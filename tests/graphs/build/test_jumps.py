"""Jumps are found in a function's code where they can be, and in its result always."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, cast

import langgraph.types as lg
import pytest
from langgraph.graph import END
from langgraph.types import Command, Send
from langgraph.types import Command as Leap

from groundwire import tools
from groundwire.graphs.build._bounds import Jump, annotated_jumps, jumps_in, mentions_jump


def plain(state: Any) -> dict[str, Any]:
    return {"text": str(len(str(state)))}


def direct(state: Any) -> Any:
    return Command(goto="a")


def renamed(state: Any) -> Any:
    return Leap(goto="a")


def sends(state: Any) -> Any:
    return [Send("a", {})]


def through_a_module(state: Any) -> Any:
    return lg.Command(goto="a")


def imports_when_it_runs(state: Any) -> Any:
    from langgraph.types import Command as Late

    return Late


def in_a_helper(state: Any) -> Any:
    return direct(state)


def in_an_inner_function(state: Any) -> Any:
    return [Command(goto=x) for x in "ab"]


def by_default(state: Any, kind: Any = Command) -> Any:
    return kind(goto="a")


def by_keyword_default(state: Any, *, kind: Any = Command) -> Any:
    return kind(goto="a")


class Caller:
    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, state: Any) -> Any:
        return self.function(state)

    def method(self, state: Any) -> Any:
        return self.function(state)

    @staticmethod
    def jumps(state: Any) -> Any:
        return Command(goto="a")


class Slotted:
    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, state: Any) -> Any:
        return self.function(state)


def wrapped(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(function)
    def wrapper(state: Any) -> Any:
        return function(state)

    return wrapper


def other_command(state: Any) -> Any:
    return tools.Command("true")


def names_itself() -> Callable[[Any], Any]:
    def again(state: Any) -> Any:
        return again

    return again


def before_it_is_bound() -> list[bool]:
    """Looked at while what its cell will hold is not there yet."""

    def early(state: Any) -> Any:
        return late

    seen = [mentions_jump(early)]
    late = Command
    return [*seen, mentions_jump(early)]


JUMPING: list[Any] = [
    direct,
    renamed,
    sends,
    through_a_module,
    imports_when_it_runs,
    in_a_helper,
    in_an_inner_function,
    by_default,
    by_keyword_default,
    Caller(direct),
    Caller(plain),  # its static method
    Caller(plain).method,
    Slotted(direct),
    functools.partial(plain, direct),
    functools.partial(by_keyword_default, kind=None),
    functools.partial(direct),
    wrapped(direct),
    Slotted({"a": [direct]}),
    Slotted((frozenset({direct}),)),
]


QUIET: list[Any] = [plain, other_command, Slotted(plain), wrapped(plain), len, names_itself()]


@pytest.mark.parametrize("function", JUMPING)
def test_a_jump_is_found(function: Any) -> None:
    assert mentions_jump(function)


@pytest.mark.parametrize("function", QUIET)
def test_what_does_not_jump_is_left_alone(function: Any) -> None:
    assert not mentions_jump(function)


def test_a_name_that_has_no_value_yet_is_no_trouble() -> None:
    assert before_it_is_bound() == [False, True]


def test_an_annotation_is_enough() -> None:
    def told(state: Any) -> Command[Any]:
        return globals()["x"]

    assert mentions_jump(told)
    assert annotated_jumps(told) == ()


def test_annotations_name_their_targets() -> None:
    def one(state: Any) -> Command[Literal["a", "b"]]: ...
    def either(state: Any) -> Command[Literal["a"]] | dict[str, Any]: ...
    def nothing(state: Any): ...  # pyright: ignore[reportUnknownParameterType]
    def unknown(state: Any) -> Nowhere: ...  # noqa: F821  # pyright: ignore[reportUndefinedVariable, reportUnknownParameterType]

    class Callable_:  # noqa: N801
        def __call__(self, state: Any) -> Command[Literal["c"]]: ...

    assert annotated_jumps(one) == ("a", "b")
    assert annotated_jumps(either) == ("a",)
    assert annotated_jumps(Callable_()) == ("c",)
    assert annotated_jumps(cast("Any", nothing)) == annotated_jumps(cast("Any", unknown)) == annotated_jumps(3) == ()


RESULTS: list[tuple[Any, list[Jump]]] = [
    (None, []),
    ({"goto": "a"}, []),
    (Command(update={}), []),
    (Command(goto="a"), [Jump("a")]),
    (Command(goto=END), []),
    (Command(goto=["a", Send("b", {}), END]), [Jump("a"), Jump("b")]),
    (Command(goto=Send("a", {})), [Jump("a")]),
    (Command(goto="a", graph="__parent__"), [Jump("a", "__parent__")]),
    (Send("a", {}), [Jump("a")]),
    ([Send("a", {}), Command(goto="b"), {"x": 1}], [Jump("a"), Jump("b")]),
    ((Command(goto=("a",)),), [Jump("a")]),
]


@pytest.mark.parametrize(
    ("result", "jumps"),
    RESULTS,
)
def test_every_jump_in_a_result_is_seen(result: Any, jumps: list[Jump]) -> None:
    assert list(jumps_in(result)) == jumps
