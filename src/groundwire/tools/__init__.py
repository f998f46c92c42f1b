"""Tools: what touches the world and says what it saw. Only the runtime mints signals from that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core.first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.tools.command_tool import Command
    from groundwire.tools.functions import FunctionTool, Toolbox
    from groundwire.tools.hidden_tests import HiddenTests, tool_for
    from groundwire.tools.mcp_servers import mcp_tools
    from groundwire.tools.model_tests import ModelTests
    from groundwire.tools.pytest_tool import Pytest
    from groundwire.tools.search import Corpus
    from groundwire.tools.stdlib_runners import Doctest, Unittest
    from groundwire.tools.tool_calls import AnswerCheck, RuleReviewer

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
        "AnswerCheck": "tool_calls",
        "Command": "command_tool",
        "Corpus": "search",
        "Doctest": "stdlib_runners",
        "FunctionTool": "functions",
        "HiddenTests": "hidden_tests",
        "ModelTests": "model_tests",
        "Pytest": "pytest_tool",
        "RuleReviewer": "tool_calls",
        "Toolbox": "functions",
        "Unittest": "stdlib_runners",
        "mcp_tools": "mcp_servers",
        "tool_for": "hidden_tests",
    },
)
