"""Tools: what touches the world and says what it saw. Only the runtime mints signals from that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.first_use import at_first_use

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

__getattr__, __dir__ = at_first_use(
    __name__,
    {
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
    },
)
