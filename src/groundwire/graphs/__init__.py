"""The feedback graph, its proof, its gate, and ready-made graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.graphs.build._declarations import Rules
    from groundwire.graphs.build._feedback_graph import FeedbackGraph
    from groundwire.graphs.run._app import FeedbackApp
    from groundwire.graphs.run._budget import Budget, RunBudget
    from groundwire.graphs.run._episode import Episode
    from groundwire.graphs.run._gate import Refusal
    from groundwire.graphs.run._result import EpisodeResult
    from groundwire.graphs.run._sandboxes import SandboxOptions
    from groundwire.graphs.run._state import EpisodeState

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
        "Budget": "run._budget",
        "Episode": "run._episode",
        "EpisodeResult": "run._result",
        "EpisodeState": "run._state",
        "FeedbackApp": "run._app",
        "FeedbackGraph": "build._feedback_graph",
        "Refusal": "run._gate",
        "Rules": "build._declarations",
        "RunBudget": "run._budget",
        "SandboxOptions": "run._sandboxes",
    },
)
