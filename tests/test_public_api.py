"""The public names are pinned, and importing the package stays light."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

import groundwire
import groundwire_audit

PUBLIC = {
    "groundwire": {
        "Actor", "ActorContext", "Budget", "Candidate", "CaseOutcome", "CaseResult", "Critic", "CriticContext",
        "EpisodeResult", "EpisodeState", "Evidence", "FeedbackApp", "FeedbackGraph", "GroundwireError",
        "Limits", "NoVerdict", "Observation", "Origin", "Rules", "RunBudget", "SandboxOptions", "Signal",
        "StopReason", "Task", "Tool", "ToolContext", "Tree", "UngroundedLoopError", "Verdict", "audit",
        "from_langgraph",
    },
    "groundwire.agents": {
        "Asking", "BanditActor", "BlindActor", "BlindResampling", "ChosenPast", "CommandActor",
        "ConfidentVote", "Distiller", "EpisodeCritic", "Extra", "FunctionBody", "FunctionWriter", "Fusion",
        "HeuristicActor", "Imagined", "KillBelow", "LLMActor", "LLMCaseWriter", "LLMCritic", "LLMForesight",
        "LocalOrGlobal", "LookaheadActor", "MadDebate", "MathForm", "Mode", "ModelReviewer", "ModelStepJudge",
        "NextStep",
        "ParallelRefine", "PerturbVote", "Perturbation", "PlaceCritic", "Question", "RandomActor", "ReActActor",
        "RefinedBestOfN", "ReplayActor", "RollOutActor", "Rollouts", "RoundTable", "RuleCritic", "SampledAnswer",
        "Sampler", "SearchActor", "SelfRefine", "Sets", "SideBySide", "Simulator", "SocraticRefine", "StepBeamActor",
        "StepJudge", "StepWriter", "StepsCritic", "StrategyRouter", "Structured", "TabularActor", "TextAnswer",
        "ToolActor", "Value", "WorldModel", "ask_for", "plain_answer", "relabelled_digits", "shuffled_options",
        "stated_answer", "swapped_lines",
    },
    "groundwire.benchmarks": {
        "BENCHMARKS", "Benchmark", "HumanEval", "HumanEvalFix", "HumanEvalPlus", "Item", "Lr2Bench", "Mbpp",
        "MbppPlus", "SweBench", "benchmark",
    },
    "groundwire.core": {
        "ActingTool", "Actor", "ActorContext", "ActorTraits", "Admission", "Answer", "Artifact", "AsksModel",
        "Backend", "BackendTraits", "BatchTool", "BoxCommand", "BudgetExceeded", "Call", "Candidate", "CandidateError",
        "CandidateRecord", "CaseOutcome", "CaseResult", "CaseWriter", "Completion", "ConfigError", "Contradiction",
        "Critic", "CriticContext", "CriticTraits", "EditStatistics", "Embedder", "Environment", "EpisodeEnd",
        "EpisodeRecord", "Evidence", "ExecResult", "Failure", "FileKeys", "GraphError", "GroundingError",
        "GroundwireError", "Hidden", "HiddenLeak", "Intent", "Isolation", "Judged", "JudgesByKey", "Keys",
        "Lesson", "LessonMark", "LetsPropose", "Limits", "Load", "Mark", "Masker", "MemoryKeys", "Message",
        "Mint", "ModelCall", "ModelError", "ModelRejected", "ModelReplyInvalid", "ModelRetryable", "Move",
        "Needs", "NoVerdict", "Observation", "Origin", "Pair", "PairingSandbox", "PartError",
        "ProgramRequest",
        "ProgramResult", "ProgramRun",
        "Recall", "Record", "RecordNotFound", "Recorded", "Recording", "RecordingError",
        "RecordingExhausted", "RecordingMissing", "Reflection", "ReflectionRecord", "ReportsLoad", "Request",
        "Reranker",
        "Ruling", "RunEnd", "RunRecord", "Sample", "Sandbox", "SandboxCrashed", "SandboxError", "SandboxInfo",
        "SandboxUnavailable", "Scene", "SealError", "Settings", "Signal", "Status", "StepRules", "StopReason",
        "StorageBusy", "StorageError", "Store", "Streaming", "SwitchPenalty", "Task", "TaskError", "Tool",
        "ToolCall", "ToolContext", "ToolError", "ToolSpec", "ToolTraits", "Transition", "Tree", "TrialEnd",
        "TrialRecord", "TwoBoxTool", "UngroundedLoopError", "UngroundedPartError", "Usage", "UserError", "Verdict",
        "WarmSandbox", "WriterContext", "WritingTool", "WrittenCases", "actions_in", "answer_of", "attempt",
        "data", "environment_task", "mask", "moves_of", "moves_so_far", "new_id", "read_recording",
        "recorded_calls", "scene_as_text", "scene_of", "start_of", "transitions", "verify", "wilson",
    },
    "groundwire.viewer": {"Ledgers", "export_episode", "export_run", "make_app", "new_token"},
    "groundwire.evaluation": {
        "Allowance", "Arm", "CodeHint", "Comparison", "Confusion", "Episodes", "Floats", "Labels", "Measured",
        "Ragged", "Rate", "JudgedSample", "Report", "RunFacts", "TrialRow", "TrialStep", "Trials", "calibration",
        "code_hints", "compare", "confusion", "early_stop", "instability", "localised", "measure",
        "paired_interval", "read_run", "reflecting", "report_on", "self_report", "sign_test", "step_uses",
        "switches", "trace_confidence", "trial_rows", "underthinking", "wandering", "width",
    },
    "groundwire.graphs": {
        "Budget", "Episode", "EpisodeResult", "EpisodeState", "FeedbackApp", "FeedbackGraph", "GateKind",
        "GateQuestion", "GraphCard", "Refusal", "Rules", "RunBudget", "SandboxOptions", "Sandboxes", "Select",
        "admit", "blind_resampling", "builder", "card", "cards", "code_repair", "confident_vote",
        "correction_memory", "episodic", "from_langgraph", "fusion", "mad_debate", "parallel_refine", "perturb_vote",
        "plan_ahead", "preflight", "refined_best_of_n", "round_table", "search_judge", "self_refine", "sets",
        "side_by_side_judge", "ssr", "step_beam", "strategy_router", "tool_account", "tool_recovery",
        "trajectory_factory", "verified_steps",
    },
    "groundwire.integrations.harbor": {
        "GroundwireAgent", "HarborChange", "HarborTask", "HarborVerifier", "StepResult", "StepsResult", "atif_of",
        "oracle_candidate", "run_steps", "write_harbor_task",
    },
    "groundwire.integrations.inspect": {
        "eval_log_of", "grounded_loop", "inspect_task", "sealed_verdict", "tasks_of_dataset", "write_inspect_log",
    },
    "groundwire.integrations.gated": {
        "GraphModule", "GroundedMiddleware", "GroundedModule", "GroundedOutput", "MetricStopped", "OutputGate",
        "OutputRefused", "OutputRuling", "SealedMetric", "langchain_tools", "run_grounded", "sealed_guardrail",
        "tools_from_langchain",
    },
    "groundwire.integrations.rl": {
        "OpenEnvWorld", "VerifiersWorld", "openenv_app", "openenv_world", "verifiers_taskset", "verifiers_world",
    },
    "groundwire.logs": {
        "Answered", "EnvironmentTrial", "InterCodeEpisode", "LdbRow", "LoggedEpisode", "LoggedRun",
        "LoggedTrial", "Outcome", "ReflexionRow", "SOLUTION", "TrialSummary", "WrittenTestsRow",
        "function_task", "read_environments", "read_hotpotqa", "read_intercode", "read_ldb", "read_reflexion",
        "read_written_tests", "recording_of", "runs_in", "write_run",
    },
    "groundwire.memory": {
        "InMemoryStore", "LessonInfo", "Lessons", "DatabaseLocation", "Recalled", "Size", "SqlStore", "State",
        "export_lessons", "fingerprint", "import_lessons", "locate", "says_the_same", "size_of",
    },
    "groundwire.models": {
        "Fallbacks", "LiteLLMBackend", "LiteLLMReranker", "LocalBackend", "MiniLM", "OpenAICompatibleBackend",
        "Patience",
        "ReplayBackend", "ReplicatedBackend", "SMOLLM2", "ScriptedBackend", "ServerOptions", "TransformersBackend",
        "VllmBackend", "VllmServerBackend", "WatchedBackend", "allow_model_calls", "backend_for", "load_litellm",
    },
    "groundwire.sandbox": {
        "DEFAULT_KINDS", "Probe", "open_sandbox", "probe_all",
    },
    "groundwire.telemetry": {
        "ToldOfCall", "ToldOfEpisode", "episode_span", "is_wanted", "judging_span", "model_call_span", "tell_of_signal",
    },
    "groundwire.tools": {
        "AnswerCheck", "BUILT_IN", "ByMeaning", "ByReranking", "ByWords", "Check", "Command", "Corpus", "Doctest",
        "EnvironmentTool",
        "FunctionTool", "GymnasiumEnvironment", "HiddenTests", "ModelTests", "Person", "Preflight", "Pytest",
        "Relevance", "RuleReviewer", "Separation", "StepChecker", "Supported", "Toolbox", "Unittest", "World",
        "WorldServer", "answer_task", "gymnasium_world", "http_world", "mcp_tools", "normalised", "own_world",
        "step_rules", "tool_for", "world",
    },
    "groundwire.training": {
        "Form", "Options", "Rejected", "Row", "ScoredCompletion", "TaskReward", "Trajectories", "Trajectory", "Trial",
        "Turn", "export", "form", "form_names", "json_schema", "opened", "read_trajectory", "reward", "robustness",
        "trajectories_of", "with_labels",
    },
}  # fmt: skip


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_are_pinned_and_load(module: str) -> None:
    loaded = importlib.import_module(module)
    assert set(loaded.__all__) == PUBLIC[module]
    for name in PUBLIC[module]:
        value = getattr(loaded, name)
        assert value.__doc__ or not isinstance(value, type | FunctionType), f"{name} says nothing of itself"


OWN_PROGRAMS = frozenset(
    {
        "training/improving/trainer.py",
        "__main__.py", "agents/programs/program_guest.py", "core/math_equality.py", "benchmarks/lr2bench/rules.py",
        "models/local_model/serve.py", "models/model_server/keeper.py", "models/vllm_engine/watch.py",
    }
)  # fmt: skip
"""Run or copied by their path, beside what runs inside a sandbox."""
INSIDE = ("demo/projects/", "memory/migrations/", "sandbox/guest/", "tools/inside/")


def test_every_module_is_private_and_a_package_is_its_page() -> None:
    root = Path(groundwire.__file__).parent
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if path.name == "__init__.py" or name in OWN_PROGRAMS or name.startswith(INSIDE):
            continue
        assert path.name.startswith("_"), name
        assert "\n__all__ = " not in path.read_text(), f"{name} is private: what is public is named by its package"


def test_docs_and_examples_import_from_the_public_pages_alone() -> None:
    root = Path(__file__).parents[1]
    pages = {**PUBLIC, "groundwire_audit": set(groundwire_audit.__all__)}  # pinned by tests of its own
    for path in [root / "README.md", *sorted((root / "docs").rglob("*.md")), *sorted((root / "examples").glob("*.py"))]:
        text = path.read_text()
        for module, names in re.findall(r"^\s*from (groundwire[\w.]*) import (\([^)]*\)|[^\n#`]+)", text, re.MULTILINE):
            assert module in pages, f"{path.name} imports from {module}"
            for name in re.findall(r"\w+", re.sub(r"\w+ as ", "", names)):
                assert name in pages[module] or f"{module}.{name}" in pages, f"{path.name}: {module} has no {name}"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        groundwire.nonsense  # noqa: B018
    assert set(groundwire.__all__) <= set(dir(groundwire))


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import groundwire", {"langgraph", "sqlalchemy", "pydantic", "litellm", "docker", "libcst", "typer"}),
        ("from groundwire import FeedbackGraph", {"sqlalchemy", "litellm", "docker", "libcst", "typer"}),
        ("import groundwire.agents", {"langgraph", "sqlalchemy", "litellm", "libcst"}),
        ("import groundwire.logs", {"langgraph", "sqlalchemy", "litellm", "docker"}),
        ("import groundwire.memory", {"langgraph", "sqlalchemy", "litellm"}),
        ("import groundwire.sandbox", {"langgraph", "sqlalchemy", "litellm", "docker"}),
        ("import groundwire.tools", {"langgraph", "sqlalchemy", "litellm", "docker", "libcst"}),
        ("from groundwire import audit", {"langgraph", "pydantic", "sqlalchemy", "litellm", "docker", "typer"}),
        ("import groundwire.cli", {"langgraph", "sqlalchemy", "litellm", "libcst", "pydantic"}),
    ],
)
def test_heavy_parts_load_only_when_used(statement: str, absent: set[str]) -> None:
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert absent & set(loaded) == set()
