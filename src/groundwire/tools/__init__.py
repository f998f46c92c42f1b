"""Tools: what touches the world and says what it saw. Only the runtime mints signals from that."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.answer_check import AnswerCheck
    from groundwire.tools.choose import tool_for
    from groundwire.tools.command_tool import Command
    from groundwire.tools.corpus import Corpus
    from groundwire.tools.doctest_tool import Doctest
    from groundwire.tools.functions import FunctionTool
    from groundwire.tools.hidden_tests import HiddenTests
    from groundwire.tools.mcp_servers import mcp_tools
    from groundwire.tools.model_tests import ModelTests
    from groundwire.tools.preflight import RuleReviewer
    from groundwire.tools.pytest_tool import Pytest
    from groundwire.tools.toolbox import Toolbox
    from groundwire.tools.unittest_tool import Unittest

__all__ = [
    "AnswerCheck",
    "Command",
    "Corpus",
    "Doctest",
    "FunctionTool",
    "HiddenTests",
    "ModelTests",
    "Pytest",
    "RuleReviewer",
    "Toolbox",
    "Unittest",
    "mcp_tools",
    "tool_for",
]

_HOMES = {
    "AnswerCheck": "answer_check",
    "Command": "command_tool",
    "Corpus": "corpus",
    "Doctest": "doctest_tool",
    "FunctionTool": "functions",
    "HiddenTests": "hidden_tests",
    "ModelTests": "model_tests",
    "Pytest": "pytest_tool",
    "RuleReviewer": "preflight",
    "Toolbox": "toolbox",
    "Unittest": "unittest_tool",
    "mcp_tools": "mcp_servers",
    "tool_for": "choose",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
