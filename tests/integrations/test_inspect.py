"""groundwire in inspect_ai, and inspect_ai's logs here: by its own evaluations, reader and files."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from peer_environments import python_with

from groundwire.core._seal import verify
from groundwire.core._signals import Signal
from groundwire.core._signing import PublicKey

pytestmark = pytest.mark.slow
PROGRAM = Path(__file__).parents[1] / "support" / "inspect_runs.py"
READ = """
import json, sys
from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries
log = read_eval_log(sys.argv[1])
(sample,) = log.samples
(score,) = sample.scores.values()
(short,) = read_eval_log_sample_summaries(sys.argv[1])
events = [event.event for event in sample.events]
accuracy = log.results.scores[0].metrics["accuracy"].value
print(json.dumps([log.status, sample.id, score.value, events, accuracy, short.id]))
"""


@pytest.fixture(scope="module")
def python() -> Path:
    return python_with("inspect-ai>=0.3.280,<0.4")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inspect")


def ran(folder: Path, *words: str | Path) -> str:
    state = {"XDG_STATE_HOME": str(folder / "state"), "XDG_DATA_HOME": str(folder / "data")}
    done = subprocess.run(
        [*map(str, words)], capture_output=True, text=True, timeout=500, env={**os.environ, **state}, cwd=folder
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def told(python: Path, folder: Path) -> dict[str, Any]:
    """What came of each evaluation, by its name."""
    lines = ran(folder, python, PROGRAM, folder).splitlines()
    return {row["run"]: row for row in map(json.loads, lines)}


def test_the_loop_goes_round_on_a_sealed_fail_alone(told: dict[str, Any]) -> None:
    loop = told["loop"]
    assert (loop["status"], loop["value"], loop["output"], loop["accuracy"]) == ("success", "C", "HELLO\n", 1.0)
    assert loop["calls"] == 3  # inspect_ai's own log has each call
    assert (loop["metadata"]["trials"], loop["metadata"]["stop_reason"]) == (2, "verified")
    assert (told["wrong"]["value"], told["wrong"]["accuracy"]) == ("I", 0.0)


def test_a_score_is_a_seal_that_anybody_can_verify(told: dict[str, Any]) -> None:
    for name in ("loop", "wrong", "other_solver", "ours"):
        metadata = told[name]["metadata"]
        signal = Signal.from_json(metadata["signal"])
        verify(signal, PublicKey.read(metadata["public_key"]))
        assert signal.verdict.value == metadata["verdict"], name


def test_another_solvers_answer_is_judged_too(told: dict[str, Any]) -> None:
    assert (told["other_solver"]["value"], told["other_solver"]["calls"]) == ("C", 1)


def test_our_task_is_judged_by_its_own_tests(told: dict[str, Any]) -> None:
    ours = told["ours"]
    assert (ours["value"], ours["metadata"]["stop_reason"]) == ("C", "verified"), ours["metadata"]["detail"]
    assert "return a + b" in ours["output"]


def test_a_limit_of_inspects_is_inspects(told: dict[str, Any]) -> None:
    assert told["limit"]["limit"] == "token"


def test_a_dataset_becomes_questions(told: dict[str, Any]) -> None:
    (first, asked), (second, choice) = told["dataset"]["tasks"]
    assert (first, second) == ("sum", "2")
    assert asked.startswith("2 + 2?")
    assert "B) eel" in choice


def test_a_run_is_a_log_that_its_reader_loads(told: dict[str, Any], python: Path, folder: Path) -> None:
    run, out = told["ours"]["metadata"]["run"], folder / "run.eval"
    db = f"sqlite:///{folder / 'l.db'}"
    ran(folder, python, "-m", "groundwire", "export", run, "--format", "inspect", "--out", out, "--db", db)
    status, sample, value, events, accuracy, short = json.loads(ran(folder, python, "-c", READ, out))
    assert (status, sample, value, accuracy, short) == ("success", "add", "C", 1.0, "add")
    assert events.count("model") == 1
    assert events.count("info") >= 2  # the signals: of the baseline, and of what passed


def test_logs_are_imported_and_reported_on(told: dict[str, Any], python: Path, folder: Path) -> None:
    db = f"sqlite:///{folder / 'imported.db'}"
    for name, solved in (("loop", [1]), ("wrong", [0])):
        log = told[name]["log"]
        row = json.loads(ran(folder, python, "-m", "groundwire", "import", log, "--db", db, "--json"))
        assert (row["log"], row["episodes"], row["solved_by_trial"]) == ("inspect_ai", 1, solved)
