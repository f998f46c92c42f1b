"""Agents of Pydantic AI, the OpenAI Agents SDK, LangChain and Deep Agents, behind the gate: by their own packages."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from peer_environments import python_with

pytestmark = pytest.mark.slow
PROGRAM = Path(__file__).parents[1] / "support" / "gated_runs.py"
AGENTS = ("pydantic-ai-slim>=2.0,<3", "openai-agents>=0.24,<1", "langchain>=1.2,<2", "deepagents>=0.7,<1")
"""They don't clash, so one environment holds them all."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gated")


@pytest.fixture(scope="module")
def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "XDG_DATA_HOME": str(folder / "data")}


@pytest.fixture(scope="module")
def python() -> Path:
    return python_with(*AGENTS)


@pytest.fixture(scope="module")
def told(python: Path, folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    """What came of each agent, by its name."""
    ran = subprocess.run([python, PROGRAM, folder], capture_output=True, text=True, timeout=500, env=environment)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]
    return {row["name"]: row for row in map(json.loads, ran.stdout.splitlines())}


@pytest.mark.parametrize("name", ["pydantic_ai", "langchain", "langchain_sync"])
def test_an_agent_goes_on_after_a_sealed_fail_and_ends_on_a_pass(told: dict[str, Any], name: str) -> None:
    row = told[name]
    assert (row["output"], row["error"]) == ("HELLO", "")
    assert (row["verdicts"], row["again"], row["episodes"]) == (["fail", "pass"], [True, False], 1)


@pytest.mark.parametrize("name", ["pydantic_ai_never", "openai_agents_never", "langchain_never"])
def test_tries_are_bounded_and_the_last_fail_is_an_error(told: dict[str, Any], name: str) -> None:
    row = told[name]
    assert row["error"].startswith("OutputRefused: The output failed: budget_trials. not in capitals")
    assert (row["output"], row["again"]) == (None, [True, True, False])


@pytest.mark.parametrize(
    "name", ["pydantic_ai_unknown", "openai_agents_unknown", "langchain_unknown", "guardrail_unknown"]
)
def test_no_verdict_is_neither_a_pass_nor_another_try(told: dict[str, Any], name: str) -> None:
    row = told[name]
    assert row["error"].startswith("OutputRefused: The output has no verdict"), row
    assert (row["output"], row["again"]) == (None, [False])


def test_a_check_that_breaks_judges_nothing(told: dict[str, Any]) -> None:
    row = told["pydantic_ai_broken"]
    assert (row["output"], row["error"]) == (None, "RuntimeError: the check is broken")
    assert row["verdicts"] == []


def test_the_same_answer_again_and_again_is_stuck(told: dict[str, Any]) -> None:
    row = told["pydantic_ai_same"]
    assert row["error"].startswith("OutputRefused: The output failed: stuck.")
    assert row["again"] == [True, True, True, False]


def test_pydantic_ai_judges_typed_streamed_and_parallel_outputs(told: dict[str, Any]) -> None:
    assert (told["pydantic_ai_typed"]["output"], told["pydantic_ai_typed"]["again"]) == (2, [True, False])
    assert (told["pydantic_ai_stream"]["output"], told["pydantic_ai_stream"]["verdicts"]) == ("HELLO", ["pass"])
    assert (sorted(told["pydantic_ai_two_runs"]["output"]), told["pydantic_ai_two_runs"]["episodes"]) == (["A", "B"], 2)
    assert told["pydantic_ai_few_retries"]["output"] == "Exceeded maximum output retries (1)"


def test_a_project_s_own_tests_judge_in_the_sandbox(told: dict[str, Any]) -> None:
    assert (told["deepagents"]["verdicts"], told["deepagents"]["error"]) == (["fail", "pass"], "")


def test_the_openai_agents_sdk_is_told_what_failed(told: dict[str, Any]) -> None:
    assert told["openai_agents"]["output"] == ["HELLO", "pass", 3, True]
    assert told["openai_agents_session"]["output"] == ["HELLO", ["user", "assistant", "user", "assistant"]]


def test_a_guardrail_trips_on_a_sealed_fail_alone(told: dict[str, Any]) -> None:
    assert told["guardrail_pass"]["output"] == "HELLO"
    assert (told["guardrail_fail"]["output"], told["guardrail_fail"]["again"]) == ("tripped on fail", [False])


def test_each_run_of_a_thread_is_an_episode(told: dict[str, Any]) -> None:
    assert (told["langchain_thread"]["output"], told["langchain_thread"]["episodes"]) == (["HELLO", "BYE", False], 2)


def test_tools_go_in_and_out(told: dict[str, Any]) -> None:
    name, found, worked, error, wrong, fits, once = told["tools_in"]["output"]
    assert (name, found, worked, error, fits, once) == ("stock", "12", False, "KeyError: 'jug'", "", True)
    assert wrong == "item: Input should be a valid string"
    answer, arguments, status, said = told["tools_out"]["output"]
    assert (answer, arguments, status) == ("42", {"number": {"type": "integer"}}, "error")
    assert said.startswith("number: Input should be a valid integer")
    assert told["tools_named"]["error"].startswith("ConfigError: There is no tool stick.")


def test_the_ledger_holds_it_as_it_was_sealed(
    told: dict[str, Any], python: Path, folder: Path, environment: dict[str, str]
) -> None:
    for name, signals in (("pydantic_ai", 2), ("langchain_thread", 2), ("pydantic_ai_few_retries", 2)):
        command = [python, "-m", "groundwire", "verify", told[name]["run"], "--db", f"sqlite:///{folder / 'l.db'}"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        assert f"{signals} signals verified: as they were sealed" in done.stdout
