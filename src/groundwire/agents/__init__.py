"""Actors that propose and critics that reflect; each is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.agents.patching._case_writer import LLMCaseWriter
    from groundwire.agents.patching._function_writer import FunctionWriter
    from groundwire.agents.patching._llm_actor import LLMActor
    from groundwire.agents.patching._llm_critic import Distiller, LLMCritic
    from groundwire.agents.patching._rule_critic import RuleCritic
    from groundwire.agents.patching._variants import BlindActor, ChosenPast, LocalOrGlobal
    from groundwire.agents.programs._command_actor import CommandActor
    from groundwire.agents.programs._replay_actor import ReplayActor
    from groundwire.agents.prompting._structured import Structured, ask_for
    from groundwire.agents.search import SearchActor
    from groundwire.agents.steps._step_beam import NextStep, StepBeamActor
    from groundwire.agents.steps._step_reader import ModelReviewer
    from groundwire.agents.steps._step_writer import StepWriter
    from groundwire.agents.steps._tool_actor import ToolActor
    from groundwire.agents.width._answers import FunctionBody, TextAnswer
    from groundwire.agents.width._confident_vote import ConfidentVote, KillBelow, Mode
    from groundwire.agents.width._parallel_refine import ParallelRefine
    from groundwire.agents.width._perturb_vote import (
        Perturbation,
        PerturbVote,
        relabelled_digits,
        shuffled_options,
        swapped_lines,
    )
    from groundwire.agents.width._refined_best_of_n import ModelStepJudge, RefinedBestOfN, StepJudge
    from groundwire.agents.width._round_table import RoundTable
    from groundwire.agents.width._sampling import Asking, Extra, Question, SampledAnswer, Sampler
    from groundwire.agents.width._side_by_side import SideBySide
    from groundwire.agents.width._strategy_router import StrategyRouter
    from groundwire.agents.width.controls._drafts import BlindResampling, Fusion, Sets
    from groundwire.agents.width.controls._mad_debate import MadDebate
    from groundwire.agents.width.controls._self_refine import SelfRefine
    from groundwire.agents.width.controls._ssr import SocraticRefine
    from groundwire.agents.worlds import (
        BanditActor,
        EpisodeCritic,
        HeuristicActor,
        Imagined,
        LLMForesight,
        LookaheadActor,
        PlaceCritic,
        RandomActor,
        ReActActor,
        RollOutActor,
        Rollouts,
        Simulator,
        StepsCritic,
        TabularActor,
        Value,
        WorldModel,
    )
    from groundwire.core._answers import plain_answer, stated_answer
    from groundwire.core._math_form import MathForm

__all__ = [
    "Asking",
    "BanditActor",
    "BlindActor",
    "BlindResampling",
    "ChosenPast",
    "CommandActor",
    "ConfidentVote",
    "Distiller",
    "EpisodeCritic",
    "Extra",
    "FunctionBody",
    "FunctionWriter",
    "Fusion",
    "HeuristicActor",
    "Imagined",
    "KillBelow",
    "LLMActor",
    "LLMCaseWriter",
    "LLMCritic",
    "LLMForesight",
    "LocalOrGlobal",
    "LookaheadActor",
    "MadDebate",
    "MathForm",
    "Mode",
    "ModelReviewer",
    "ModelStepJudge",
    "NextStep",
    "ParallelRefine",
    "PerturbVote",
    "Perturbation",
    "PlaceCritic",
    "Question",
    "RandomActor",
    "ReActActor",
    "RefinedBestOfN",
    "ReplayActor",
    "RollOutActor",
    "Rollouts",
    "RoundTable",
    "RuleCritic",
    "SampledAnswer",
    "Sampler",
    "SearchActor",
    "SelfRefine",
    "Sets",
    "SideBySide",
    "Simulator",
    "SocraticRefine",
    "StepBeamActor",
    "StepJudge",
    "StepWriter",
    "StepsCritic",
    "StrategyRouter",
    "Structured",
    "TabularActor",
    "TextAnswer",
    "ToolActor",
    "Value",
    "WorldModel",
    "ask_for",
    "plain_answer",
    "relabelled_digits",
    "shuffled_options",
    "stated_answer",
    "swapped_lines",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "SampledAnswer": "width._sampling",
        "Asking": "width._sampling",
        "BanditActor": "worlds",
        "BlindActor": "patching._variants",
        "BlindResampling": "width.controls._drafts",
        "ChosenPast": "patching._variants",
        "CommandActor": "programs._command_actor",
        "ConfidentVote": "width._confident_vote",
        "Distiller": "patching._llm_critic",
        "EpisodeCritic": "worlds",
        "Extra": "width._sampling",
        "FunctionBody": "width._answers",
        "FunctionWriter": "patching._function_writer",
        "Fusion": "width.controls._drafts",
        "HeuristicActor": "worlds",
        "Imagined": "worlds",
        "KillBelow": "width._confident_vote",
        "LLMActor": "patching._llm_actor",
        "LLMCaseWriter": "patching._case_writer",
        "LLMCritic": "patching._llm_critic",
        "LLMForesight": "worlds",
        "LocalOrGlobal": "patching._variants",
        "LookaheadActor": "worlds",
        "MadDebate": "width.controls._mad_debate",
        "Mode": "width._confident_vote",
        "ModelReviewer": "steps._step_reader",
        "ModelStepJudge": "width._refined_best_of_n",
        "NextStep": "steps._step_beam",
        "ParallelRefine": "width._parallel_refine",
        "PerturbVote": "width._perturb_vote",
        "Perturbation": "width._perturb_vote",
        "PlaceCritic": "worlds",
        "Question": "width._sampling",
        "RandomActor": "worlds",
        "ReActActor": "worlds",
        "RefinedBestOfN": "width._refined_best_of_n",
        "ReplayActor": "programs._replay_actor",
        "RollOutActor": "worlds",
        "Rollouts": "worlds",
        "RoundTable": "width._round_table",
        "RuleCritic": "patching._rule_critic",
        "Sampler": "width._sampling",
        "SearchActor": "search",
        "SelfRefine": "width.controls._self_refine",
        "Sets": "width.controls._drafts",
        "SideBySide": "width._side_by_side",
        "Simulator": "worlds",
        "SocraticRefine": "width.controls._ssr",
        "StepBeamActor": "steps._step_beam",
        "StepJudge": "width._refined_best_of_n",
        "StepWriter": "steps._step_writer",
        "StepsCritic": "worlds",
        "StrategyRouter": "width._strategy_router",
        "Structured": "prompting._structured",
        "TabularActor": "worlds",
        "TextAnswer": "width._answers",
        "ToolActor": "steps._tool_actor",
        "Value": "worlds",
        "WorldModel": "worlds",
        "ask_for": "prompting._structured",
        "relabelled_digits": "width._perturb_vote",
        "shuffled_options": "width._perturb_vote",
        "swapped_lines": "width._perturb_vote",
    },
    elsewhere={
        "MathForm": "groundwire.core._math_form",
        "plain_answer": "groundwire.core._answers",
        "stated_answer": "groundwire.core._answers",
    },
)
