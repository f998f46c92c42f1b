"""Actors that propose and critics that reflect; each is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.agents.patching._case_writer import LLMCaseWriter
    from groundwire.agents.patching._llm_actor import LLMActor
    from groundwire.agents.patching._llm_critic import LLMCritic
    from groundwire.agents.patching._rule_critic import RuleCritic
    from groundwire.agents.programs._command_actor import CommandActor
    from groundwire.agents.programs._replay_actor import ReplayActor
    from groundwire.agents.prompting._structured import ask_for
    from groundwire.agents.search import SearchActor
    from groundwire.agents.steps._step_reader import ModelReviewer
    from groundwire.agents.steps._tool_actor import ToolActor

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
        "CommandActor": "programs._command_actor",
        "LLMActor": "patching._llm_actor",
        "LLMCaseWriter": "patching._case_writer",
        "LLMCritic": "patching._llm_critic",
        "ModelReviewer": "steps._step_reader",
        "ReplayActor": "programs._replay_actor",
        "RuleCritic": "patching._rule_critic",
        "SearchActor": "search",
        "ToolActor": "steps._tool_actor",
        "ask_for": "prompting._structured",
    },
)
