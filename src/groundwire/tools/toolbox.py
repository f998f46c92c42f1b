"""The tools of one actor, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from groundwire.completions import ToolSpec
from groundwire.errors import ConfigError
from groundwire.tools.callable_tools import CallableTool
from groundwire.tools.functions import FunctionTool

__all__ = ["Toolbox"]


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
