"""What a model may call: plain functions with schemas read from their signatures, and one actor's tools by name."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, get_type_hints, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import to_json

from groundwire.core._errors import ConfigError
from groundwire.core._models import ToolSpec

# What a model may call, whatever it is made of: functions, tools of an MCP server.

ERROR_CHARS = 256


@dataclass(frozen=True)
class Outcome:
    """What a call gave back.

    Args:
        text: the result, or why there is none.
        ok: False for a tool error.
    """

    text: str
    ok: bool = True


@runtime_checkable
class CallableTool(Protocol):
    """Something that can be called by name with JSON arguments."""

    @property
    def spec(self) -> ToolSpec:
        """What a model is told of it."""
        ...

    @property
    def irreversible(self) -> bool:
        """True for what can't be undone."""
        ...

    @property
    def once(self) -> bool:
        """True where the same call again is refused."""
        ...

    def problem(self, arguments: Mapping[str, Any]) -> str:
        """Why the arguments don't fit the schema, in one line; empty where they do."""
        ...

    async def call(self, arguments: Mapping[str, Any]) -> Outcome:
        """Calls it. Trouble is an outcome, not an exception."""
        ...


def last_line(error: BaseException | str) -> str:
    """The last line of an error, which is what informs (THOR, arXiv 2509.13761); the class where it says nothing."""
    text = error if isinstance(error, str) else str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = lines[-1][:ERROR_CHARS] if lines else ""
    if isinstance(error, str):
        return said
    kind = type(error).__name__
    return f"{kind}: {said}" if said else kind


# A plain Python function as a tool: its schema is read from its signature.

POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class FunctionTool:
    """A function, sync or async, that a model may call. It runs in this process, as the user.

    An exception is a tool error: its last line goes back to the actor. A function that is not async runs in a thread,
    which nothing can end: after a time-out it may still be at work.

    Args:
        function: its parameters are annotated; what pydantic can read from JSON can be a parameter.
        name: what the model calls it; default: the function's own name.
        description: default: its docstring.
        irreversible: True for what can't be undone (a payment, a deletion): a graph may ask somebody first.
        once: True where the same call again can bring nothing new, and is refused.
        timeout_s: wall seconds that one call may take.

    Raises:
        ConfigError: the signature can't be offered to a model.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str = "",
        description: str = "",
        irreversible: bool = False,
        once: bool = False,
        timeout_s: float = 30.0,
    ) -> None:
        self.irreversible = irreversible
        self.once = once
        self.timeout_s = timeout_s
        self._function = function
        self._model = _model_of(function)
        schema = self._model.model_json_schema()
        for untitled in (schema, *schema.get("properties", {}).values()):
            untitled.pop("title", None)
        self.spec = ToolSpec(
            name=name or function.__name__,
            description=inspect.cleandoc(description or function.__doc__ or ""),
            parameters=schema,
        )

    def problem(self, arguments: Mapping[str, Any]) -> str:
        """Why these arguments don't fit, in one line; empty where they do. Nothing is called."""
        try:
            self._model.model_validate(arguments)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            return f"{place}: {first['msg']}" if place else first["msg"]
        return ""

    async def call(self, arguments: Mapping[str, Any]) -> Outcome:
        """Calls the function with arguments that fit."""
        given = self._model.model_validate(arguments)
        values = {str(field.alias): getattr(given, place) for place, field in type(given).model_fields.items()}
        clock = asyncio.timeout(self.timeout_s)
        try:
            async with clock:
                result = await _called(self._function, values)
        except TimeoutError as error:
            late = f"no answer within {self.timeout_s:g} s; it may still be at work"
            return Outcome(late if clock.expired() else last_line(error), ok=False)
        except Exception as error:  # whatever a tool raises is what the world answered
            return Outcome(last_line(error), ok=False)
        return Outcome(result if isinstance(result, str) else to_json(result, fallback=str).decode())


def _called(function: Callable[..., Any], values: Mapping[str, Any]) -> Awaitable[Any]:
    if inspect.iscoroutinefunction(function):
        return function(**values)
    return asyncio.to_thread(function, **values)


def _model_of(function: Callable[..., Any]) -> type[BaseModel]:
    name = getattr(function, "__name__", "")
    fields: dict[str, Any] = {}
    try:
        hints = get_type_hints(function, include_extras=True)
        for number, parameter in enumerate(inspect.signature(function).parameters.values()):
            if parameter.kind in VARIADIC or parameter.kind is POSITIONAL_ONLY:
                raise ConfigError(
                    f"{name}({parameter}) can't be a tool.", do="Give each of its parameters a name of its own."
                )
            default = ... if parameter.default is parameter.empty else parameter.default
            # numbered, since not every parameter's name may be a field's
            fields[f"p{number}"] = (hints.get(parameter.name, Any), Field(default, alias=parameter.name))
        model = create_model(name, __config__=ConfigDict(extra="forbid"), **fields)
        model.model_json_schema()
    except (TypeError, ValueError, NameError, PydanticUserError) as error:
        raise ConfigError(
            f"{name or function!r} can't be a tool: {last_line(error)}.",
            do="Give a named function whose parameters are annotated with types that JSON can hold.",
        ) from error
    return model


# The tools of one actor, by name.


class Toolbox:
    """What an actor may call.

    Args:
        *tools: tools, or plain functions.

    Raises:
        ConfigError: two have one name, or a function can't be a tool.
    """

    def __init__(self, *tools: CallableTool | Callable[..., Any]) -> None:
        self._tools: dict[str, CallableTool] = {}
        self._add(tool if isinstance(tool, CallableTool) else FunctionTool(tool) for tool in tools)

    def _add(self, tools: Iterable[CallableTool]) -> None:
        for tool in tools:
            if tool.spec.name in self._tools:
                raise ConfigError(f"There are two tools {tool.spec.name!r}.", do="Give one of them another name.")
            self._tools[tool.spec.name] = tool

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What a model is told of them, in order."""
        return tuple(tool.spec for tool in self._tools.values())

    def get(self, name: str) -> CallableTool | None:
        """The tool of that name; None where there is none."""
        return self._tools.get(name)

    def is_irreversible(self, name: str) -> bool:
        """True if there is such a tool and what it does can't be undone."""
        tool = self.get(name)
        return tool is not None and tool.irreversible
