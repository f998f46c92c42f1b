"""The feedback graph, its proof, its gate, and ready-made graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.graphs.app import FeedbackApp
    from groundwire.graphs.budget import Budget, RunBudget
    from groundwire.graphs.episode import Episode
    from groundwire.graphs.feedback_graph import FeedbackGraph
    from groundwire.graphs.gate import Refusal
    from groundwire.graphs.result import EpisodeResult
    from groundwire.graphs.rules import Rules
    from groundwire.graphs.sandboxes import SandboxOptions
    from groundwire.graphs.state import EpisodeState

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
        "Budget": "budget",
        "Episode": "episode",
        "EpisodeResult": "result",
        "EpisodeState": "state",
        "FeedbackApp": "app",
        "FeedbackGraph": "feedback_graph",
        "Refusal": "gate",
        "Rules": "rules",
        "RunBudget": "budget",
        "SandboxOptions": "sandboxes",
    },
)
