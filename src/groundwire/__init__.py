"""An agent framework in which nothing is corrected unless something outside the model said it was wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core.first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.core.candidates import Candidate, Tree
    from groundwire.core.errors import GroundwireError, UngroundedLoopError
    from groundwire.core.records import StopReason
    from groundwire.core.sandboxes import Limits
    from groundwire.core.signals import NoVerdict, Observation, Origin, Signal, Verdict
    from groundwire.core.tasks import Task
    from groundwire.graphs import (
        Budget,
        EpisodeResult,
        EpisodeState,
        FeedbackApp,
        FeedbackGraph,
        Rules,
        RunBudget,
        SandboxOptions,
    )
    from groundwire_audit import audit

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "Candidate",
    "EpisodeResult",
    "EpisodeState",
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
    "Tree",
    "UngroundedLoopError",
    "Verdict",
    "audit",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "Budget": "graphs",
        "Candidate": "core.candidates",
        "EpisodeResult": "graphs",
        "EpisodeState": "graphs",
        "FeedbackApp": "graphs",
        "FeedbackGraph": "graphs",
        "GroundwireError": "core.errors",
        "Limits": "core.sandboxes",
        "NoVerdict": "core.signals",
        "Observation": "core.signals",
        "Origin": "core.signals",
        "Rules": "graphs",
        "RunBudget": "graphs",
        "SandboxOptions": "graphs",
        "Signal": "core.signals",
        "StopReason": "core.records",
        "Task": "core.tasks",
        "Tree": "core.candidates",
        "UngroundedLoopError": "core.errors",
        "Verdict": "core.signals",
    },
    elsewhere={"audit": "groundwire_audit"},
)
