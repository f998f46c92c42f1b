"""Actors that propose and critics that reflect; each is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core.first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.agents.patching.case_writer import LLMCaseWriter
    from groundwire.agents.patching.llm_actor import LLMActor
    from groundwire.agents.patching.llm_critic import LLMCritic
    from groundwire.agents.patching.rule_critic import RuleCritic
    from groundwire.agents.programs.command_actor import CommandActor
    from groundwire.agents.programs.replay_actor import ReplayActor
    from groundwire.agents.prompting.structured import ask_for
    from groundwire.agents.search import SearchActor
    from groundwire.agents.steps.step_reader import ModelReviewer
    from groundwire.agents.steps.tool_actor import ToolActor

__all__ = [
    "CommandActor",
    "LLMActor",
    "LLMCaseWriter",
    "LLMCritic",
    "ModelReviewer",
    "ReplayActor",
    "RuleCritic",
    "SearchActor",
    "ToolActor",
    "ask_for",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "CommandActor": "programs.command_actor",
        "LLMActor": "patching.llm_actor",
        "LLMCaseWriter": "patching.case_writer",
        "LLMCritic": "patching.llm_critic",
        "ModelReviewer": "steps.step_reader",
        "ReplayActor": "programs.replay_actor",
        "RuleCritic": "patching.rule_critic",
        "SearchActor": "search",
        "ToolActor": "steps.tool_actor",
        "ask_for": "prompting.structured",
    },
)
