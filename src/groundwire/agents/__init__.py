"""Actors that propose, critics that reflect, what they ask models with; each is imported when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING

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

_HOMES = {
    "CommandActor": "groundwire.agents.command_actor",
    "LLMActor": "groundwire.agents.llm_actor",
    "LLMCaseWriter": "groundwire.agents.case_writer",
    "LLMCritic": "groundwire.agents.llm_critic",
    "ModelReviewer": "groundwire.agents.model_reviewer",
    "ReplayActor": "groundwire.agents.replay_actor",
    "RuleCritic": "groundwire.agents.rule_critic",
    "ScriptedBackend": "groundwire.agents.backends.scripted",
    "SearchActor": "groundwire.agents.search",
    "ToolActor": "groundwire.agents.tool_actor",
    "ask_for": "groundwire.agents.structured",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
