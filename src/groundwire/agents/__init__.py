"""Actors that propose, critics that reflect, what they ask models with; each is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.agents.backends.scripted import ScriptedBackend
    from groundwire.agents.case_writer import LLMCaseWriter
    from groundwire.agents.command_actor import CommandActor
    from groundwire.agents.llm_actor import LLMActor
    from groundwire.agents.llm_critic import LLMCritic
    from groundwire.agents.model_reviewer import ModelReviewer
    from groundwire.agents.replay_actor import ReplayActor
    from groundwire.agents.rule_critic import RuleCritic
    from groundwire.agents.search import SearchActor
    from groundwire.agents.structured import ask_for
    from groundwire.agents.tool_actor import ToolActor

__all__ = [
    "CommandActor",
    "LLMActor",
    "LLMCaseWriter",
    "LLMCritic",
    "ModelReviewer",
    "ReplayActor",
    "RuleCritic",
    "ScriptedBackend",
    "SearchActor",
    "ToolActor",
    "ask_for",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "CommandActor": "command_actor",
        "LLMActor": "llm_actor",
        "LLMCaseWriter": "case_writer",
        "LLMCritic": "llm_critic",
        "ModelReviewer": "model_reviewer",
        "ReplayActor": "replay_actor",
        "RuleCritic": "rule_critic",
        "ScriptedBackend": "backends.scripted",
        "SearchActor": "search",
        "ToolActor": "tool_actor",
        "ask_for": "structured",
    },
)
