"""DSPy by its own package: metrics, optimizers with scripted models, modules."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from peer_environments import python_with

pytestmark = pytest.mark.slow
PROGRAM = Path(__file__).parents[1] / "support" / "dspy_runs.py"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of each, by its name."""
    folder = tmp_path_factory.mktemp("dspy")
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "XDG_DATA_HOME": str(folder / "data")}
    command = [python_with("dspy>=3.4,<4"), PROGRAM, folder]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=550, env=environment)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]
    return {row["name"]: row for row in map(json.loads, ran.stdout.splitlines())}


def test_a_score_is_a_sealed_verdict_and_true_for_a_pass_alone(told: dict[str, Any]) -> None:
    passed, failed = told["scores"]["output"]
    assert passed == [1.0, True, "The output passed its check.", True]
    assert failed[:2] == [0.0, False]
    assert "not in capitals" in failed[2]
    assert told["typed"]["output"] == 1.0


def test_the_feedback_is_what_failed_and_no_word_of_hidden_tests(told: dict[str, Any]) -> None:
    assert told["tests_pass"]["output"][0] == 1.0
    score, feedback = told["tests_fail"]["output"]
    assert score == 0.0
    assert "assert 'A b' == 'a-b'" in feedback
    score, feedback = told["hidden_fail"]["output"]
    assert (score, feedback) == (0.0, "The output failed what judges it, of which no more may be said.")


@pytest.mark.parametrize("name", ["evaluate_unknown", "evaluate_unknown_alone", "bootstrap_unknown", "gepa_unknown"])
def test_no_verdict_is_no_score_and_ends_what_asked_for_one(told: dict[str, Any], name: str) -> None:
    assert told[name]["error"].startswith("MetricStopped: The output has no verdict: no_verdict.")


def test_what_a_check_raises_is_no_score_either(told: dict[str, Any]) -> None:
    assert told["evaluate_broken"]["error"] == "MetricStopped: RuntimeError: the check is broken"
    assert "Which field of a prediction is judged can't be told" in told["unclear"]["error"]
    assert told["nothing_judges"]["error"].startswith("ConfigError: Nothing judges the output.")


def test_what_dspy_itself_does_with_no_score_is_as_the_page_says(told: dict[str, Any]) -> None:
    assert told["evaluate_none"]["error"].startswith("TypeError: unsupported operand")
    assert told["evaluate_error"]["output"] == [0.0, 3]
    assert told["evaluate"]["output"] == [0.0, 0]


def test_only_what_passed_is_a_demonstration(told: dict[str, Any]) -> None:
    assert told["bootstrap"]["output"] == [["Greet guest 1.", "A"]]


def test_gepa_learns_from_the_feedback_and_each_output_is_judged_once(told: dict[str, Any]) -> None:
    instructions, judged, asked = told["gepa"]["output"]
    assert (instructions, judged) == ("Answer in capital letters.", ["HELLO", "HELLO", "hello", "hello"])
    assert "not in capitals" in asked


def test_gepa_s_reflecting_model_sees_nothing_of_hidden_tests(told: dict[str, Any]) -> None:
    asked = told["gepa_hidden"]["output"][2]
    assert "of which no more may be said" in asked
    assert not [word for word in ("test_more", "c-d-e", "checks") if word in asked]


def test_a_module_is_asked_again_after_a_sealed_fail_alone(told: dict[str, Any]) -> None:
    assert told["module"]["output"] == ["HELLO", "pass"]
    assert told["module_async"]["output"] == "HELLO"
    assert told["module_never"]["error"].startswith("OutputRefused: The output failed: budget_trials. too loud")
    assert told["module_handed_over"]["output"] == ["HELLO", "fail"]
    assert told["module_unknown"]["error"].startswith("OutputRefused: The output has no verdict")
    assert "has no input 'feedback'" in told["module_deaf"]["error"]


def test_a_module_s_copy_is_evaluated_in_threads_and_its_predictors_are_found(told: dict[str, Any]) -> None:
    assert told["module_in_evaluate"]["output"] == [100.0, ["program"]]


def test_a_graph_is_a_module_that_hands_over_what_was_verified(told: dict[str, Any]) -> None:
    code, *rest = told["graph"]["output"]
    assert code.startswith("def slug")
    assert rest == ["pass", "verified", True]
    assert told["graph_fails"]["output"] == ["", "fail", "stuck", False]
