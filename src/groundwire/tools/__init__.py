"""Tools: what touches the world and says what it saw. Only the runtime mints signals from that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.tools._command_tool import Command
    from groundwire.tools._functions import FunctionTool, Toolbox
    from groundwire.tools._hidden_tests import HiddenTests, tool_for
    from groundwire.tools._mcp_servers import mcp_tools
    from groundwire.tools._model_tests import ModelTests
    from groundwire.tools._pytest_tool import Pytest
    from groundwire.tools._search import Corpus
    from groundwire.tools._stdlib_runners import Doctest, Unittest
    from groundwire.tools._tool_calls import AnswerCheck, RuleReviewer

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

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "AnswerCheck": "_tool_calls",
        "Command": "_command_tool",
        "Corpus": "_search",
        "Doctest": "_stdlib_runners",
        "FunctionTool": "_functions",
        "HiddenTests": "_hidden_tests",
        "ModelTests": "_model_tests",
        "Pytest": "_pytest_tool",
        "RuleReviewer": "_tool_calls",
        "Toolbox": "_functions",
        "Unittest": "_stdlib_runners",
        "mcp_tools": "_mcp_servers",
        "tool_for": "_hidden_tests",
    },
)
