"""What a model may call, whatever it is made of: functions, tools of an MCP server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from groundwire.completions import ToolSpec

__all__ = ["CallableTool", "Outcome", "last_line"]

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
