"""An agent framework in which nothing is corrected unless something outside the model said it was wrong.

PYTEST_DONT_REWRITE: it comes with a pytest plugin, and may be imported before pytest starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.auditing import audit
    from groundwire.errors import GroundwireError, UngroundedLoopError
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
    from groundwire.limits import Limits
    from groundwire.records import StopReason
    from groundwire.signals import NoVerdict, Observation, Origin, Signal, Verdict
    from groundwire.tasks import Task
    from groundwire.trees import Candidate, Tree

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
        "Candidate": "trees",
        "EpisodeResult": "graphs",
        "EpisodeState": "graphs",
        "FeedbackApp": "graphs",
        "FeedbackGraph": "graphs",
        "GroundwireError": "errors",
        "Limits": "limits",
        "NoVerdict": "signals",
        "Observation": "signals",
        "Origin": "signals",
        "Rules": "graphs",
        "RunBudget": "graphs",
        "SandboxOptions": "graphs",
        "Signal": "signals",
        "StopReason": "records",
        "Task": "tasks",
        "Tree": "trees",
        "UngroundedLoopError": "errors",
        "Verdict": "signals",
        "audit": "auditing",
    },
)
