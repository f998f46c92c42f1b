"""The options of every ready-made graph, each declared once: the flags of `groundwire run`, the tables of docs/graphs
and what is refused all come from here.

    samples: Annotated[int, Flag("Samples of one proposal.", least=1)] = 16

A class is one graph's; what several share is a base of theirs. A flag that several graphs have means the same in each,
though their defaults may differ. Nothing here imports what does the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal


@dataclass(frozen=True)
class Flag:
    """What is said of an option beside its type.

    Args:
        help: one line.
        least: the smallest number; None: any.
        most: the largest.
        unless: what is done where it is not given and its default says nothing.
    """

    help: str
    least: float | None = None
    most: float | None = None
    unless: str = ""


Samples = Annotated[int, Flag("Samples of one proposal.", least=1)]
Rounds = Annotated[int, Flag("Rounds at most.", least=1)]
Drafts = Annotated[str, Flag("Drafts: of each round, apart by commas, or of the only one.")]
WorkspaceTokens = Annotated[int, Flag("Tokens of what the next round is shown at most.", least=1)]
AnswerTokens = Annotated[int, Flag("Tokens of one answer.", least=1)]
Depth = Annotated[int, Flag("Steps at most: of an answer, or of what is imagined of a world.", least=1)]
Form = Annotated[Literal["auto", "text", "schema", "native"], Flag("How the model names its calls.")]


@dataclass(frozen=True, kw_only=True)
class WritesAnswer:
    """Graphs that write one answer."""

    answer: Annotated[
        str | None,
        Flag("File of the task that the answer goes into.", unless="the only one it may edit, or a function's body"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class AnswerOptions(WritesAnswer):
    """Graphs that write it in one go."""

    show: Annotated[list[str] | None, Flag("Files of the task that the prompt shows (a glob; may be repeated).")] = None
    answer_tokens: AnswerTokens = 2048


@dataclass(frozen=True, kw_only=True)
class ConfidentVoteOptions(AnswerOptions):
    """Samples and a vote."""

    samples: Samples = 16
    mode: Annotated[Literal["majority", "shortest", "offline", "online"], Flag("How the vote is taken.")] = "majority"
    keep: Annotated[float, Flag("Percent of traces that vote.", least=1, most=100)] = 90
    window: Annotated[int, Flag("Tokens of a group whose confidence is looked at.", least=1)] = 2048
    warm_up: Annotated[int, Flag("Traces that are written whole before the threshold is known.", least=1)] = 16
    consensus: Annotated[float, Flag("Share of the vote at which sampling ends.", least=0.01, most=1)] = 0.95


@dataclass(frozen=True, kw_only=True)
class ParallelRefineOptions(AnswerOptions):
    """Drafts, a workspace, and what is written from there."""

    drafts: Drafts = "8,4,1"
    workspace: Annotated[
        Literal["candidates", "summary", "top_k", "sample_top_k", "random_k"], Flag("What the next round is shown.")
    ] = "summary"
    workspace_tokens: WorkspaceTokens = 2000


@dataclass(frozen=True, kw_only=True)
class RoundTableOptions(AnswerOptions):
    """Different models that hear each other."""

    seat: Annotated[list[str] | None, Flag("A further model at the table (may be repeated).")] = None
    rounds: Rounds = 2
    same_model: Annotated[bool, Flag("Let one model sit in several seats: a control, since it agrees with itself.")] = (
        False
    )


@dataclass(frozen=True, kw_only=True)
class PerturbVoteOptions(AnswerOptions):
    """Versions of a task that change nothing."""

    symmetry: Annotated[
        Literal["options", "digits"],
        Flag("What may change places: a question's options, or digits that are names."),
    ] = "options"
    versions: Annotated[int, Flag("Changed versions beside the task as it is.", least=1)] = 9


@dataclass(frozen=True, kw_only=True)
class StrategyRouterOptions(AnswerOptions):
    """Several strategies, chosen by what is known of them."""

    strategies: Annotated[str, Flag("Graphs whose way of answering is a strategy, apart by commas.")] = (
        "confident_vote,parallel_refine"
    )


@dataclass(frozen=True, kw_only=True)
class JudgedByModel:
    """Graphs in which another model judges."""

    judge: Annotated[str | None, Flag("The model that judges; another one than the author.")] = None
    judge_run: Annotated[
        str | None, Flag("A run of `groundwire bench processbench` of that model, which says how good a judge it is.")
    ] = None
    least_f1: Annotated[float, Flag("F1 below which that judge is refused.", least=0, most=1)] = 0.5


@dataclass(frozen=True, kw_only=True)
class RefinedBestOfNOptions(AnswerOptions, JudgedByModel):
    """Samples, and what follows from a corrected step."""

    samples: Samples = 4


@dataclass(frozen=True, kw_only=True)
class SideBySideJudgeOptions(AnswerOptions, JudgedByModel):
    """Different answers, judged side by side."""

    samples: Samples = 4


@dataclass(frozen=True, kw_only=True)
class SelfRefineOptions(AnswerOptions):
    """A model that goes back over its own answer."""

    rounds: Rounds = 2


@dataclass(frozen=True, kw_only=True)
class FusionOptions(AnswerOptions):
    """Drafts in one prompt."""

    drafts: Drafts = "5"
    workspace_tokens: WorkspaceTokens = 5000


@dataclass(frozen=True, kw_only=True)
class MadDebateOptions(AnswerOptions):
    """One model that argues with itself."""

    rounds: Rounds = 3


@dataclass(frozen=True, kw_only=True)
class SetsOptions(AnswerOptions):
    """Samples that check themselves."""

    samples: Samples = 4
    rounds: Rounds = 2


@dataclass(frozen=True, kw_only=True)
class SsrOptions(AnswerOptions):
    """The weakest step, redone."""

    rounds: Rounds = 1
    solves: Annotated[int, Flag("Times that each step is solved again.", least=1)] = 3


@dataclass(frozen=True, kw_only=True)
class VerifiedStepsOptions(WritesAnswer):
    """Steps that code checks."""

    answer_tokens: AnswerTokens = 2048
    rules: Annotated[
        str | None, Flag("FILE.py:NAME of StepRules, or of a function of the task that makes them.", unless="--world's")
    ] = None
    corrections: Annotated[int, Flag("Corrections after which it abstains.", least=0)] = 5


@dataclass(frozen=True, kw_only=True)
class StepBeamOptions(WritesAnswer):
    """A search over beginnings."""

    beams: Annotated[int, Flag("Beginnings that are kept.", least=1)] = 1
    samples: Samples = 5
    depth: Depth = 10
    stop: Annotated[
        str | None, Flag("What ends a step; \\n is a line's end.", unless="an empty line; in a world a line's end")
    ] = None


@dataclass(frozen=True, kw_only=True)
class CorrectionMemoryOptions:
    """A person who corrects."""

    corrections_from: Annotated[
        Path | None,
        Flag("JSON lines, each the correction of one candidate; an empty text approves.", unless="you are asked here"),
    ] = None
    distil: Annotated[bool, Flag("The model puts what is remembered in short, beside your words.")] = False


@dataclass(frozen=True, kw_only=True)
class WorldOptions:
    """Graphs that act in a world, a step at a time."""

    repeats: Annotated[
        int | None,
        Flag("How often in a row an action may get the same response; 0: no limit.", least=0, unless="the world's"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class PlanAheadOptions(WorldOptions):
    """A plan before each action."""

    foresight: Annotated[Literal["simulator", "model"], Flag("What foresees: a copy of the world, or the model.")] = (
        "simulator"
    )
    proposals: Annotated[int, Flag("Actions that are looked into from one place.", least=1)] = 8
    depth: Depth = 3
    simulations: Annotated[int, Flag("Ways that are imagined for one action.", least=1)] = 16


@dataclass(frozen=True, kw_only=True)
class TrajectoryFactoryOptions(WorldOptions):
    """Roll-outs of one policy."""

    ways: Annotated[int, Flag("Times that the policy is asked at each place; above 1: a tree.", least=1)] = 1


@dataclass(frozen=True, kw_only=True)
class ToolOptions:
    """Graphs whose actor calls tools."""

    tools: Annotated[
        str | None, Flag("FILE.py:NAME or MODULE:NAME of a Toolbox, of a function, or of a list of them; needed.")
    ] = None
    check: Annotated[
        str | None,
        Flag(
            "FILE.py:NAME of a function that gets the answer and says True, False or what is wrong.",
            unless="the answer key of --expect or of a benchmark",
        ),
    ] = None
    form: Form = "auto"
    failures: Annotated[int, Flag("Failures of one step in a row, after which it ends.", least=1)] = 3


@dataclass(frozen=True, kw_only=True)
class PreflightOptions(ToolOptions):
    """A review before what can't be undone."""

    reviewer: Annotated[
        str | None, Flag("Another model, or FILE.py:NAME of a rule that gets a call and gives a Ruling; needed.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class SearchJudgeOptions:
    """A search whose findings are judged."""

    corpus: Annotated[
        str | None,
        Flag(
            "Text file of passages, an empty line between two; fiction: ours, of a country that does not exist.",
            unless="the task's passages.txt",
        ),
    ] = None
    relevance: Annotated[
        Literal["words", "meaning"],
        Flag("What says that a passage is relevant: its words, or an embedding."),
    ] = "words"
    form: Form = "auto"
    turns: Annotated[int, Flag("Searches of one sequence at most.", least=1)] = 4
    cuts: Annotated[int, Flag("Times that a sequence may be cut back.", least=0)] = 2


@dataclass(frozen=True, kw_only=True)
class CodeRepairOptions:
    """A repair by tests."""

    own_tests: Annotated[bool, Flag("The model writes tests beside yours; they may only ask for another try.")] = False


OPTIONS: Mapping[str, type[Any]] = {
    "code_repair": CodeRepairOptions,
    "episodic": WorldOptions,
    "tool_recovery": ToolOptions,
    "preflight": PreflightOptions,
    "search_judge": SearchJudgeOptions,
    "plan_ahead": PlanAheadOptions,
    "verified_steps": VerifiedStepsOptions,
    "step_beam": StepBeamOptions,
    "correction_memory": CorrectionMemoryOptions,
    "parallel_refine": ParallelRefineOptions,
    "confident_vote": ConfidentVoteOptions,
    "round_table": RoundTableOptions,
    "perturb_vote": PerturbVoteOptions,
    "strategy_router": StrategyRouterOptions,
    "refined_best_of_n": RefinedBestOfNOptions,
    "side_by_side_judge": SideBySideJudgeOptions,
    "trajectory_factory": TrajectoryFactoryOptions,
    "self_refine": SelfRefineOptions,
    "blind_resampling": AnswerOptions,
    "fusion": FusionOptions,
    "mad_debate": MadDebateOptions,
    "sets": SetsOptions,
    "ssr": SsrOptions,
}
"""By graph."""
