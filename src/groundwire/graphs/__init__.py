"""The feedback graph, its proof, its gate, and ready-made graphs."""

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
