"""verifiers and OpenEnv, both ways: our tasks with their packages, their environments as our worlds."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from peer_environments import python_with

pytestmark = pytest.mark.slow
PROGRAM = Path(__file__).parents[1] / "support" / "rl_runs.py"
PACKAGES = ("verifiers>=0.4,<0.5", "openenv-core>=0.3,<0.4")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of each, by its name."""
    folder = tmp_path_factory.mktemp("rl")
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "XDG_DATA_HOME": str(folder / "data")}
    command = [python_with(*PACKAGES), PROGRAM, folder]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=550, env=environment)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]
    return {row["name"]: row for row in map(json.loads, ran.stdout.splitlines())}


@pytest.mark.parametrize(
    ("name", "reward", "verdict", "why"),
    [
        ("vf_pass", 1.0, "pass", "verified"),
        ("vf_fail", 0.0, "fail", "budget_trials"),
        ("vf_empty", 0.0, "fail", "budget_trials"),
        ("vf_hidden", 0.0, "fail", "hidden_failed"),
    ],
)
def test_a_reward_of_verifiers_is_a_sealed_verdict(
    told: dict[str, Any], name: str, reward: float, verdict: str, why: str
) -> None:
    assert told[name]["output"][:4] == [reward, verdict, why, True]


def test_no_verdict_is_no_reward_in_verifiers(told: dict[str, Any]) -> None:
    error, rewards = told["vf_unknown"]["output"]
    assert error.startswith("task GroundwireTask scoring: OutputRefused: The output has no verdict")
    assert rewards == {"sealed_verdict": None}


def test_files_in_a_runtime_are_judged(told: dict[str, Any]) -> None:
    assert told["vf_files"]["output"][:3] == ["a.py b.py test_a.py ", 1.0, "pass"]
    assert told["vf_files_as_they_were"]["output"][1:3] == [0.0, "fail"]


def test_whole_rollouts_of_verifiers_own_evaluation_are_rewarded_by_sealed_verdicts(told: dict[str, Any]) -> None:
    (unknown, passed, failed), asked = told["rollouts"]["output"]
    assert passed == ["HELLO", {"sealed_verdict": 1.0}, True, "pass", True, []]
    assert failed == ["hello", {"sealed_verdict": 0.0}, True, "fail", True, []]
    assert unknown[:4] == ["?", {"sealed_verdict": None}, False, "none"]
    assert "OutputRefused: The output has no verdict" in unknown[5][0]
    assert asked == ["scripted"] * 3


def test_what_is_hidden_is_not_in_a_taskset(told: dict[str, Any]) -> None:
    prompt, hidden = told["vf_shown"]["output"]
    assert "test_slug" in prompt
    assert "test_more" not in hidden
    assert told["vf_twice"]["error"].startswith("ConfigError: Two tasks have the id loud.")


def test_a_taskset_is_a_world(told: dict[str, Any]) -> None:
    assert told["world_vf"]["output"] == ["sums-1", "pass", "verified", 2, True]
    assert told["world_vf_broken"]["output"][1:3] == ["none", "no_verdict"]
    assert "needs a runtime for its rewards" in told["world_vf_boxed"]["error"]
    assert told["world_vf_other"]["error"].startswith("ConfigError: This is no taskset of verifiers' v1")


def test_an_openenv_server_hands_out_tasks_and_judges(told: dict[str, Any]) -> None:
    begun, failed, passed = told["oe_tries"]["output"]
    assert (begun[0], begun[1], begun[2]["task"], begun[2]["prompt"]) == (False, None, "loud", "Say hello loudly.")
    assert (failed[0], failed[1], "not in capitals" in failed[2]["feedback"]) == (False, 0.0, True)
    assert (passed[0], passed[1], json.loads(passed[2]["signal"])["verdict"]) == (True, 1.0, "pass")
    assert told["oe_files"]["output"][-1][:2] == [True, 1.0]
    assert told["oe_gone"]["output"] == [True, 1.0]


def test_hidden_tests_have_the_last_word_and_are_not_told(told: dict[str, Any]) -> None:
    begun, judged = told["oe_hidden"]["output"]
    assert (judged[0], judged[1], judged[2]["verdict"]) == (True, 0.0, "fail")
    assert "test_more" not in json.dumps([begun, judged])


def test_no_verdict_is_an_error_or_null_and_never_a_reward(told: dict[str, Any]) -> None:
    assert "The output has no verdict" in told["oe_unknown"]["error"]
    assert told["oe_null"]["output"][-1][:2] == [True, None]


def test_an_openenv_server_refuses_what_is_wrong(told: dict[str, Any]) -> None:
    assert "does not let a candidate edit" in told["oe_test_file"]["error"]
    assert "There is no task '../x'." in told["oe_other_task"]["error"]
    assert "The episode is over" in told["oe_over"]["error"]
    assert told["oe_odd"]["output"] is None


def test_an_openenv_server_is_a_world(told: dict[str, Any]) -> None:
    assert told["world_oe"]["output"] == ["pass", "verified", 2]


@pytest.mark.parametrize("name", ["world_oe_hangs", "world_oe_breaks", "world_oe_mute"])
def test_a_server_that_does_not_answer_is_no_verdict(told: dict[str, Any], name: str) -> None:
    assert told[name]["output"] == ["none", "no_verdict", 1]


def test_a_server_that_is_not_there_is_told(told: dict[str, Any]) -> None:
    assert "can't be begun with seed 0: ConnectionError" in told["world_oe_nobody"]["error"]
    assert told["world_oe_address"]["error"].startswith("ConfigError: This is no server's address")
