"""Tools: what touches the world and says what it saw. Only the runtime mints signals from that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.tools._check import AnswerCheck, Check
    from groundwire.tools._command_tool import Command
    from groundwire.tools._functions import FunctionTool, Toolbox
    from groundwire.tools._hidden_tests import HiddenTests, tool_for
    from groundwire.tools._mcp_servers import mcp_tools
    from groundwire.tools._model_tests import ModelTests
    from groundwire.tools._person import Person
    from groundwire.tools._pytest_tool import Pytest
    from groundwire.tools._running import Separation
    from groundwire.tools._search import ByMeaning, ByReranking, ByWords, Corpus, Relevance, Supported, normalised
    from groundwire.tools._stdlib_runners import Doctest, Unittest
    from groundwire.tools._step_checker import StepChecker
    from groundwire.tools._tool_calls import Preflight, RuleReviewer
    from groundwire.tools.environments._catalogue import BUILT_IN, world
    from groundwire.tools.environments._one_shot import answer_task, step_rules
    from groundwire.tools.environments._own import own_world
    from groundwire.tools.environments._tool import EnvironmentTool
    from groundwire.tools.environments._world import World
    from groundwire.tools.environments.gymnasium import GymnasiumEnvironment, gymnasium_world
    from groundwire.tools.environments.http import WorldServer, http_world

__all__ = [
    "BUILT_IN",
    "AnswerCheck",
    "ByMeaning",
    "ByReranking",
    "ByWords",
    "Check",
    "Command",
    "Corpus",
    "Doctest",
    "EnvironmentTool",
    "FunctionTool",
    "GymnasiumEnvironment",
    "HiddenTests",
    "ModelTests",
    "Person",
    "Preflight",
    "Pytest",
    "Relevance",
    "RuleReviewer",
    "Separation",
    "StepChecker",
    "Supported",
    "Toolbox",
    "Unittest",
    "World",
    "WorldServer",
    "answer_task",
    "gymnasium_world",
    "http_world",
    "mcp_tools",
    "normalised",
    "own_world",
    "step_rules",
    "tool_for",
    "world",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "AnswerCheck": "_check",
        "Separation": "_running",
        "BUILT_IN": "environments._catalogue",
        "ByMeaning": "_search",
        "ByReranking": "_search",
        "ByWords": "_search",
        "Check": "_check",
        "Command": "_command_tool",
        "Corpus": "_search",
        "Doctest": "_stdlib_runners",
        "EnvironmentTool": "environments._tool",
        "FunctionTool": "_functions",
        "GymnasiumEnvironment": "environments.gymnasium",
        "HiddenTests": "_hidden_tests",
        "ModelTests": "_model_tests",
        "Person": "_person",
        "Preflight": "_tool_calls",
        "Pytest": "_pytest_tool",
        "Relevance": "_search",
        "RuleReviewer": "_tool_calls",
        "StepChecker": "_step_checker",
        "Supported": "_search",
        "Toolbox": "_functions",
        "Unittest": "_stdlib_runners",
        "World": "environments._world",
        "WorldServer": "environments.http",
        "answer_task": "environments._one_shot",
        "gymnasium_world": "environments.gymnasium",
        "http_world": "environments.http",
        "mcp_tools": "_mcp_servers",
        "normalised": "_search",
        "own_world": "environments._own",
        "step_rules": "environments._one_shot",
        "tool_for": "_hidden_tests",
        "world": "environments._catalogue",
    },
)
