"""An agent framework in which nothing is corrected unless something outside the model said it was wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use
from groundwire.core._version import __version__ as __version__

if TYPE_CHECKING:
    from groundwire.core._candidates import Candidate, Tree
    from groundwire.core._contexts import Actor, ActorContext, Critic, CriticContext, Tool, ToolContext
    from groundwire.core._errors import GroundwireError, UngroundedLoopError
    from groundwire.core._records import StopReason
    from groundwire.core._sandboxes import Limits
    from groundwire.core._signals import (
        CaseOutcome,
        CaseResult,
        Evidence,
        NoVerdict,
        Observation,
        Origin,
        Signal,
        Verdict,
    )
    from groundwire.core._tasks import Task
    from groundwire.graphs import (
        Budget,
        EpisodeResult,
        EpisodeState,
        FeedbackApp,
        FeedbackGraph,
        Rules,
        RunBudget,
        SandboxOptions,
        from_langgraph,
    )
    from groundwire_audit import audit

__all__ = [
    "Actor",
    "ActorContext",
    "Budget",
    "Candidate",
    "CaseOutcome",
    "CaseResult",
    "Critic",
    "CriticContext",
    "EpisodeResult",
    "EpisodeState",
    "Evidence",
    "FeedbackApp",
    "FeedbackGraph",
    "GroundwireError",
    "Limits",
    "NoVerdict",
    "Observation",
    "Origin",
    "Rules",
    "RunBudget",
    "SandboxOptions",
    "Signal",
    "StopReason",
    "Task",
    "Tool",
    "ToolContext",
    "Tree",
    "UngroundedLoopError",
    "Verdict",
    "audit",
    "from_langgraph",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "Actor": "core._contexts",
        "ActorContext": "core._contexts",
        "Budget": "graphs",
        "Candidate": "core._candidates",
        "CaseOutcome": "core._signals",
        "CaseResult": "core._signals",
        "Critic": "core._contexts",
        "CriticContext": "core._contexts",
        "EpisodeResult": "graphs",
        "EpisodeState": "graphs",
        "Evidence": "core._signals",
        "FeedbackApp": "graphs",
        "FeedbackGraph": "graphs",
        "GroundwireError": "core._errors",
        "Limits": "core._sandboxes",
        "NoVerdict": "core._signals",
        "Observation": "core._signals",
        "Origin": "core._signals",
        "Rules": "graphs",
        "RunBudget": "graphs",
        "SandboxOptions": "graphs",
        "Signal": "core._signals",
        "StopReason": "core._records",
        "Task": "core._tasks",
        "Tool": "core._contexts",
        "ToolContext": "core._contexts",
        "Tree": "core._candidates",
        "UngroundedLoopError": "core._errors",
        "Verdict": "core._signals",
        "from_langgraph": "graphs",
    },
    elsewhere={"audit": "groundwire_audit"},
)
