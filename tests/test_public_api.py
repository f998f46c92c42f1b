"""The public names are pinned, and importing the package stays light."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import groundwire

PUBLIC = {
    "groundwire": {
        "Budget", "Candidate", "EpisodeResult", "EpisodeState", "FeedbackApp", "FeedbackGraph", "GroundwireError",
        "Limits", "NoVerdict", "Observation", "Origin", "Rules", "RunBudget", "SandboxOptions", "Signal", "StopReason",
        "Task", "Tree", "UngroundedLoopError", "Verdict", "audit",
    },
    "groundwire.agents": {
        "CommandActor", "LLMActor", "LLMCaseWriter", "LLMCritic", "ModelReviewer", "ReplayActor",
        "RuleCritic", "SearchActor", "ToolActor", "ask_for",
    },
    "groundwire.graphs": {
        "Budget", "Episode", "EpisodeResult", "EpisodeState", "FeedbackApp", "FeedbackGraph", "Refusal", "Rules",
        "RunBudget", "SandboxOptions",
    },
    "groundwire.logs": {
        "Answered", "EnvironmentTrial", "LdbRow", "Outcome", "ReflexionRow", "TrialSummary", "WrittenTestsRow",
        "function_task", "read_environments", "read_hotpotqa", "read_ldb", "read_reflexion", "read_written_tests",
        "recording_of",
    },
    "groundwire.memory": {"InMemoryStore", "SqlStore"},
    "groundwire.sandbox": {"DEFAULT_KINDS", "Probe", "open_sandbox", "probe_all"},
    "groundwire.tools": {
        "AnswerCheck", "Command", "Corpus", "Doctest", "FunctionTool", "HiddenTests", "ModelTests", "Pytest",
        "RuleReviewer", "Toolbox", "Unittest", "mcp_tools", "tool_for",
    },
}  # fmt: skip


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_are_pinned_and_load(module: str) -> None:
    loaded = importlib.import_module(module)
    assert set(loaded.__all__) == PUBLIC[module]
    for name in PUBLIC[module]:
        assert getattr(loaded, name).__doc__


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
