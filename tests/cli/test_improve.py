"""`groundwire improve`, whole: a real model of some hundred thousand weights, the real sandbox, TRL, on a CPU."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tiny_improving import EVALUATED, TRAINED, Sum, make_model, write_tasks

from groundwire.evaluation.page._improvement import TRAIN
from groundwire.models import allow_model_calls, backend_for
from groundwire.models._transformers import TransformersBackend

pytestmark = [pytest.mark.model, pytest.mark.slow]
ARGUMENTS = (
    "--samples", "8", "--eval-samples", "6", "--answer-tokens", "24", "--epochs", "8", "--learning-rate", "1e-3",
    "--batch-size", "5", "--max-length", "128", "--json",
)  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model and both sets of tasks."""
    pytest.importorskip("trl", reason="TRL is not installed: pip install trl datasets")
    folder = tmp_path_factory.mktemp("improving")
    make_model(folder / "base")
    write_tasks(folder / "train", TRAINED)
    write_tasks(folder / "eval", EVALUATED)
    return folder


def command(
    made: Path, home: Path, *more: str, model: str = "", tasks: str = "", held: str = ""
) -> subprocess.Popen[str]:
    program = Path(sys.executable).with_name("groundwire")
    environment = {
        **os.environ, "GROUNDWIRE_MODEL_CALLS": "allow", "OMP_NUM_THREADS": "1",
        "XDG_DATA_HOME": str(home / "data"), "XDG_STATE_HOME": str(home / "state"),
    }  # fmt: skip
    asked = [program, "improve", model or f"transformers:{made / 'base'}", "--tasks", tasks or made / "train"]
    asked += ["--eval", held or made / "eval", "--out", home / "out", *ARGUMENTS, *more]
    return subprocess.Popen(
        list(map(str, asked)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def ended(process: subprocess.Popen[str], code: int) -> list[dict[str, Any]]:
    out, errors = process.communicate(timeout=600)
    assert process.returncode == code, (process.returncode, out[-2000:], errors[-3000:])
    return lines(out)


def test_two_rounds_killed_on_the_way_go_on_and_what_was_held_out_is_solved_more_often(
    made: Path, tmp_path: Path
) -> None:
    first = command(made, tmp_path, "--rounds", "2")
    assert first.stdout is not None
    begun: list[dict[str, Any]] = []
    for line in first.stdout:
        begun += lines(line)
        if begun and begun[-1]["type"] == "training":
            first.send_signal(signal.SIGKILL)
            break
    first.communicate()
    told = ended(command(made, tmp_path, "--rounds", "2"), 0)
    runs = {one["run_id"] for one in (*begun, *told) if one["type"] == "run"}
    assert len(runs) == 5, "three evaluations and two samplings, each once"
    assert not {one["run_id"] for one in begun if one["type"] == "run"} & {
        one["run_id"] for one in told if one["type"] == "run"
    }
    summary = told[-1]
    assert summary["type"] == "summary" and [model["number"] for model in summary["models"]] == [0, 1, 2]
    name = str(made / "eval")
    base, _, last = (model["figures"][name] for model in summary["models"])
    assert base["tasks"] == len(EVALUATED) and base["samples"] == 6 * len(EVALUATED)
    gain = summary["models"][2]["gains"][name]
    assert last["right"] > base["right"] and gain["low"] is not None and gain["low"] < gain["difference"] < gain["high"]
    assert summary["models"][1]["figures"][TRAIN]["samples"] == 8 * len(TRAINED)
    trained = [model for model in summary["models"] if model["trained"]]
    assert all(
        model["rows"] and len(model["rows_digest"]) == 64 and model["trained"]["versions"]["trl"] for model in trained
    )
    assert len({model["revision"] for model in summary["models"]}) == 3
    assert "No training row shares a run of 13 words" in summary["held_out"]
    out = tmp_path / "out"
    assert {"report.md", "report.html", "report.json", "curve.svg", "diversity.svg", "model"} <= {
        p.name for p in out.iterdir()
    }
    held = {task.name for task in EVALUATED}
    rows = [json.loads(line) for n in (1, 2) for line in (out / f"round-{n}" / "rows.jsonl").read_text().splitlines()]
    assert rows and not held & {row["provenance"]["task"] for row in rows} and all(row["reward"] == 1.0 for row in rows)
    with allow_model_calls():
        handed = backend_for(f"transformers:{out / 'model'}")
        assert isinstance(handed, TransformersBackend)
    again = ended(command(made, tmp_path, "--rounds", "2"), 0)
    assert not [one for one in again if one["type"] in ("run", "training")], "nothing is done twice"
    assert again[-1]["models"] == summary["models"]
    refused = ended(command(made, tmp_path, "--rounds", "2", "--seed", "1"), 2)
    assert "asked for with another seed" in refused[-1]["error"]["what"]


def test_sets_that_overlap_are_refused_and_can_be_left_out(made: Path, tmp_path: Path) -> None:
    shared = write_tasks(tmp_path / "shared", [*EVALUATED[:1], *TRAINED[:1]])
    refused = ended(command(made, tmp_path, held=str(shared)), 2)
    assert f"overlaps with the training tasks: 1 task: {TRAINED[0].name}" in refused[-1]["error"]["what"]
    assert "--drop-overlaps" in refused[-1]["error"]["do"] and not (tmp_path / "out").exists()


def test_no_right_sample_and_a_model_that_only_says_one_thing_each_end_the_loop_with_its_report(
    made: Path, tmp_path: Path
) -> None:
    never = write_tasks(tmp_path / "never", [Sum(("+", n)) for n in (31, 47)])  # numbers that it has never read
    told = ended(command(made, tmp_path, "--eval-limit", "2", tasks=str(never)), 1)
    assert told[-1]["stopped"].startswith("no row is left to train on (of 16 samples 0 are right)")
    assert "Nothing was trained." in (tmp_path / "out" / "report.md").read_text()
    other = tmp_path / "other"
    greedy = ended(command(made, other, "--temperature", "0", "--limit", "2", "--eval-limit", "2"), 1)
    assert "all samples of every task are one program" in greedy[-1]["stopped"]


def test_a_model_without_a_chat_template_or_that_is_no_folder_is_refused_at_once(made: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for file in (made / "base").iterdir():
        if file.name != "chat_template.jinja":
            (bare / file.name).write_bytes(file.read_bytes())
    refused = ended(command(made, tmp_path, model=f"transformers:{bare}"), 2)
    assert "has no chat template" in refused[-1]["error"]["what"]
    refused = ended(command(made, tmp_path, model="openai/gpt-5-mini"), 2)
    assert "not a folder of weights" in refused[-1]["error"]["what"]
    assert not (tmp_path / "out").exists()
