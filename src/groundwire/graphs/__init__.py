"""The feedback graph, its proof, its gate, and ready-made graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core.first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.graphs.build.declarations import Rules
    from groundwire.graphs.build.feedback_graph import FeedbackGraph
    from groundwire.graphs.run.app import FeedbackApp
    from groundwire.graphs.run.budget import Budget, RunBudget
    from groundwire.graphs.run.episode import Episode
    from groundwire.graphs.run.gate import Refusal
    from groundwire.graphs.run.result import EpisodeResult
    from groundwire.graphs.run.sandboxes import SandboxOptions
    from groundwire.graphs.run.state import EpisodeState

__all__ = [
    "Budget",
    "Episode",
    "EpisodeResult",
    "EpisodeState",
    "FeedbackApp",
    "FeedbackGraph",
    "Refusal",
    "Rules",
    "RunBudget",
    "SandboxOptions",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "Budget": "run.budget",
        "Episode": "run.episode",
        "EpisodeResult": "run.result",
        "EpisodeState": "run.state",
        "FeedbackApp": "run.app",
        "FeedbackGraph": "build.feedback_graph",
        "Refusal": "run.gate",
        "Rules": "build.declarations",
        "RunBudget": "run.budget",
        "SandboxOptions": "run.sandboxes",
    },
)
