"""The feedback graph, its proof, its gate, and ready-made graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.graphs.build._declarations import Rules
    from groundwire.graphs.build._feedback_graph import FeedbackGraph
    from groundwire.graphs.library._blind_resampling import blind_resampling
    from groundwire.graphs.library._card import GraphCard
    from groundwire.graphs.library._catalogue import builder, card, cards
    from groundwire.graphs.library._code_repair import code_repair
    from groundwire.graphs.library._confident_vote import confident_vote
    from groundwire.graphs.library._correction_memory import correction_memory
    from groundwire.graphs.library._episodic import episodic
    from groundwire.graphs.library._fusion import fusion
    from groundwire.graphs.library._mad_debate import mad_debate
    from groundwire.graphs.library._parallel_refine import parallel_refine
    from groundwire.graphs.library._perturb_vote import perturb_vote
    from groundwire.graphs.library._plan_ahead import plan_ahead
    from groundwire.graphs.library._preflight import preflight
    from groundwire.graphs.library._refined_best_of_n import refined_best_of_n
    from groundwire.graphs.library._round_table import round_table
    from groundwire.graphs.library._search_judge import search_judge
    from groundwire.graphs.library._self_refine import self_refine
    from groundwire.graphs.library._sets import sets
    from groundwire.graphs.library._side_by_side_judge import side_by_side_judge
    from groundwire.graphs.library._ssr import ssr
    from groundwire.graphs.library._step_beam import step_beam
    from groundwire.graphs.library._strategy_router import strategy_router
    from groundwire.graphs.library._tool_recovery import tool_recovery
    from groundwire.graphs.library._tool_steps import tool_account
    from groundwire.graphs.library._trajectory_factory import trajectory_factory
    from groundwire.graphs.library._verified_steps import verified_steps
    from groundwire.graphs.run._answer import Select
    from groundwire.graphs.run._app import FeedbackApp
    from groundwire.graphs.run._budget import Budget, RunBudget
    from groundwire.graphs.run._episode import Episode
    from groundwire.graphs.run._gate import GateKind, GateQuestion, Refusal, admit
    from groundwire.graphs.run._langgraph_actor import from_langgraph
    from groundwire.graphs.run._result import EpisodeResult
    from groundwire.graphs.run._sandboxes import Sandboxes, SandboxOptions
    from groundwire.graphs.run._state import EpisodeState

__all__ = [
    "Budget",
    "Episode",
    "EpisodeResult",
    "EpisodeState",
    "FeedbackApp",
    "FeedbackGraph",
    "GateKind",
    "GateQuestion",
    "GraphCard",
    "Refusal",
    "Rules",
    "RunBudget",
    "SandboxOptions",
    "Sandboxes",
    "Select",
    "admit",
    "blind_resampling",
    "builder",
    "card",
    "cards",
    "code_repair",
    "confident_vote",
    "correction_memory",
    "episodic",
    "from_langgraph",
    "fusion",
    "mad_debate",
    "parallel_refine",
    "perturb_vote",
    "plan_ahead",
    "preflight",
    "refined_best_of_n",
    "round_table",
    "search_judge",
    "self_refine",
    "sets",
    "side_by_side_judge",
    "ssr",
    "step_beam",
    "strategy_router",
    "tool_account",
    "tool_recovery",
    "trajectory_factory",
    "verified_steps",
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
        "GateKind": "run._gate",
        "GraphCard": "library._card",
        "GateQuestion": "run._gate",
        "Refusal": "run._gate",
        "Rules": "build._declarations",
        "RunBudget": "run._budget",
        "SandboxOptions": "run._sandboxes",
        "Sandboxes": "run._sandboxes",
        "Select": "run._answer",
        "admit": "run._gate",
        "blind_resampling": "library._blind_resampling",
        "builder": "library._catalogue",
        "card": "library._catalogue",
        "cards": "library._catalogue",
        "code_repair": "library._code_repair",
        "confident_vote": "library._confident_vote",
        "correction_memory": "library._correction_memory",
        "episodic": "library._episodic",
        "from_langgraph": "run._langgraph_actor",
        "fusion": "library._fusion",
        "mad_debate": "library._mad_debate",
        "parallel_refine": "library._parallel_refine",
        "perturb_vote": "library._perturb_vote",
        "plan_ahead": "library._plan_ahead",
        "preflight": "library._preflight",
        "refined_best_of_n": "library._refined_best_of_n",
        "round_table": "library._round_table",
        "search_judge": "library._search_judge",
        "self_refine": "library._self_refine",
        "sets": "library._sets",
        "side_by_side_judge": "library._side_by_side_judge",
        "ssr": "library._ssr",
        "step_beam": "library._step_beam",
        "strategy_router": "library._strategy_router",
        "tool_account": "library._tool_steps",
        "tool_recovery": "library._tool_recovery",
        "trajectory_factory": "library._trajectory_factory",
        "verified_steps": "library._verified_steps",
    },
)
