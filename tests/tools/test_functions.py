"""Plain functions as tools: the schema is read from the signature, and what does not fit is not called."""

from __future__ import annotations

import asyncio
import functools
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from groundwire.core._errors import ConfigError
from groundwire.tools import FunctionTool, Toolbox
from groundwire.tools._functions import Outcome, last_line


class Place(BaseModel):
    row: int
    seat: str = "A"


def book(
    model_config: Annotated[int, Field(ge=1, description="how many")],
    place: Place,
    schema: Literal["aisle", "window"] = "aisle",
) -> dict[str, Any]:
    """Books seats.

    One after the other.
    """
    return {"n": model_config, "row": place.row, "seat": place.seat, "schema": schema}


def test_the_schema_is_what_the_signature_says() -> None:
    spec = FunctionTool(book).spec
    assert (spec.name, spec.description) == ("book", "Books seats.\n\nOne after the other.")
    properties = spec.parameters["properties"]
    assert properties["model_config"] == {"description": "how many", "minimum": 1, "type": "integer"}
    assert properties["schema"] == {"default": "aisle", "enum": ["aisle", "window"], "type": "string"}
    assert spec.parameters["required"] == ["model_config", "place"]
    assert spec.parameters["additionalProperties"] is False


async def test_arguments_that_fit_are_handed_over_as_their_types() -> None:
    tool = FunctionTool(book, name="reserve")
    given = {"model_config": 2, "place": {"row": 7}}
    assert tool.spec.name == "reserve" and tool.problem(given) == ""
    assert await tool.call(given) == Outcome('{"n":2,"row":7,"seat":"A","schema":"aisle"}')


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "model_config: Field required"),
        ({"model_config": 0, "place": {"row": 1}}, "model_config: Input should be greater than or equal to 1"),
        ({"model_config": 1, "place": {"row": "x"}}, "place.row: Input should be a valid integer"),
        ({"model_config": 1, "place": {"row": 1}, "force": True}, "force: Extra inputs are not permitted"),
        ({"model_config": 1, "place": {"row": 1}, "schema": "roof"}, "schema: Input should be 'aisle' or 'window'"),
    ],
)
def test_arguments_that_do_not_fit_are_named(arguments: dict[str, Any], problem: str) -> None:
    assert FunctionTool(book).problem(arguments).startswith(problem)


async def test_what_is_raised_is_an_outcome_and_only_its_last_line() -> None:
    async def fails() -> None:
        raise RuntimeError("first\nsecond\n\nthe very last  \n")

    def says_nothing() -> None:
        raise KeyError

    assert await FunctionTool(fails).call({}) == Outcome("RuntimeError: the very last", ok=False)
    assert await FunctionTool(says_nothing).call({}) == Outcome("KeyError", ok=False)
    assert last_line("a\n" + "b" * 999) == "b" * 256


async def test_a_time_out_is_told_from_a_function_that_raises_one() -> None:
    async def hangs() -> None:
        await asyncio.Event().wait()

    async def gives_up() -> None:
        raise TimeoutError("the far end is silent")

    late = await FunctionTool(hangs, timeout_s=0.01).call({})
    assert late == Outcome("no answer within 0.01 s; it may still be at work", ok=False)
    assert await FunctionTool(gives_up).call({}) == Outcome("TimeoutError: the far end is silent", ok=False)


async def test_cancelling_an_episode_is_no_tool_error() -> None:
    async def hangs() -> None:
        await asyncio.Event().wait()

    running = asyncio.ensure_future(FunctionTool(hangs).call({}))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


def any_number(*numbers: int) -> int:
    return sum(numbers)


def unnamed(a: int, /) -> int:
    return a


def unknown(a: Nowhere) -> int:  # type: ignore[name-defined]  # noqa: F821
    return 1


def no_json(a: asyncio.Event) -> int:
    return 1


REFUSED: list[Any] = [any_number, unnamed, unknown, no_json, functools.partial(book, 1)]


@pytest.mark.parametrize("function", REFUSED)
def test_a_function_that_can_not_be_offered_is_refused_when_it_is_given(function: Any) -> None:
    with pytest.raises(ConfigError, match="can't be a tool"):
        FunctionTool(function)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="two tools 'book'"):
        Toolbox(book, FunctionTool(unnamed_twin, name="book"))
    assert Toolbox(book).get("nothing") is None


def unnamed_twin() -> int:
    return 2
