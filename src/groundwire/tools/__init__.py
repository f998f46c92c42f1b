"""Tools: what touches the world and says what it saw. Only the runtime mints signals from that."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.choose import tool_for
    from groundwire.tools.command_tool import Command
    from groundwire.tools.doctest_tool import Doctest
    from groundwire.tools.hidden_tests import HiddenTests
    from groundwire.tools.model_tests import ModelTests
    from groundwire.tools.pytest_tool import Pytest
    from groundwire.tools.unittest_tool import Unittest

__all__ = ["Command", "Doctest", "HiddenTests", "ModelTests", "Pytest", "Unittest", "tool_for"]

_HOMES = {
    "Command": "command_tool",
    "Doctest": "doctest_tool",
    "HiddenTests": "hidden_tests",
    "ModelTests": "model_tests",
    "Pytest": "pytest_tool",
    "Unittest": "unittest_tool",
    "tool_for": "choose",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
