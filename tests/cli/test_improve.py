"""`groundwire improve`, whole: a real model of some hundred thousand weights, the real sandbox, TRL, on a CPU."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from forking_python import trainers_python
from tiny_improving import EVALUATED, TRAINED, Sum, model_made_by, write_tasks

from groundwire.evaluation.page._improvement import TRAIN

pytestmark = [pytest.mark.model, pytest.mark.slow]
ARGUMENTS = (
    "--samples", "6", "--eval-samples", "4", "--answer-tokens", "24", "--epochs", "8", "--learning-rate", "1e-3",
    "--batch-size", "6", "--max-length", "128", "--at-once", "3", "--json",
)  # fmt: skip
ENDING = """#!{python} -S
import os, time
os.kill(os.getppid(), {signal})
if {signal} == 2:
    time.sleep(20)
    open({late!r}, "w").close()
"""
"""Stands for a trainer's Python: it ends whoever starts it, at the moment when training begins."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model and both sets of tasks."""
    folder = tmp_path_factory.mktemp("improving")
    model_made_by(trainers_python(), folder / "base")
    write_tasks(folder / "train", TRAINED)
    write_tasks(folder / "eval", EVALUATED)
    return folder


def improve(
    made: Path, home: Path, *more: str | Path, model: str = "", tasks: str = "", held: str = "", out: str = "out"
) -> subprocess.CompletedProcess[str]:
    """The command, its trainers too, in a Python that has imported torch."""
    python = trainers_python()
    environment = {
        **os.environ, "GROUNDWIRE_MODEL_CALLS": "allow", "OMP_NUM_THREADS": "1",
        "XDG_DATA_HOME": str(home / "data"), "XDG_STATE_HOME": str(home / "state"),
    }  # fmt: skip
    program = Path(sys.executable).with_name("groundwire")
    asked = [python, program, "improve", model or f"transformers:{made / 'base'}", "--tasks", tasks or made / "train"]
    asked += ["--eval", held or made / "eval", "--out", home / out, "--trainer-python", python, *ARGUMENTS, *more]
    return subprocess.run(list(map(str, asked)), capture_output=True, text=True, env=environment, timeout=600)


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def ended(ran: subprocess.CompletedProcess[str], code: int) -> list[dict[str, Any]]:
    assert ran.returncode == code, (ran.returncode, ran.stdout[-2000:], ran.stderr[-3000:])
    return lines(ran.stdout)


def ends_its_parent(folder: Path, by: signal.Signals) -> Path:
    made = folder / f"trainer-{by.name}"
    made.write_text(ENDING.format(python=sys.executable, signal=int(by), late=str(folder / "late")))
    made.chmod(0o700)
    return made


def test_two_rounds_ended_on_the_way_go_on_and_what_was_held_out_is_solved_more_often(
    made: Path, tmp_path: Path
) -> None:
    killing, interrupting = (ends_its_parent(tmp_path, by) for by in (signal.SIGKILL, signal.SIGINT))
    begun = ended(improve(made, tmp_path, "--rounds", "2", "--trainer-python", killing), -signal.SIGKILL)
    again = improve(made, tmp_path, "--rounds", "2", "--trainer-python", interrupting)
    assert not [one for one in ended(again, 130) if one["type"] == "run"] and "goes on from here" in again.stderr
    assert not (tmp_path / "late").exists(), "a trainer was left at work, or waited for"
    told = ended(improve(made, tmp_path, "--rounds", "2"), 0)
    runs = {one["run_id"] for one in (*begun, *told) if one["type"] == "run"}
    assert len(runs) == 5, "three evaluations and two samplings, each once"
    assert not {one["run_id"] for one in begun if one["type"] == "run"} & {
        one["run_id"] for one in told if one["type"] == "run"
    }
    summary = told[-1]
    assert summary["type"] == "summary" and [model["number"] for model in summary["models"]] == [0, 1, 2]
    name = str(made / "eval")
    base, _, last = (model["figures"][name] for model in summary["models"])
    assert base["tasks"] == len(EVALUATED) and base["samples"] == 4 * len(EVALUATED)
    gain = summary["models"][2]["gains"][name]
    assert last["right"] > base["right"] and gain["low"] is not None and gain["low"] < gain["difference"] < gain["high"]
    assert summary["models"][1]["figures"][TRAIN]["samples"] == 6 * len(TRAINED)
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
    again = ended(improve(made, tmp_path, "--rounds", "2"), 0)
    assert not [one for one in again if one["type"] in ("run", "training")], "nothing is done twice"
    assert again[-1]["models"] == summary["models"]
    refused = ended(improve(made, tmp_path, "--rounds", "2", "--seed", "1"), 2)
    assert "asked for with another seed" in refused[-1]["error"]["what"]


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Homes in whose ledger the samples of the first model are there after the first of several commands."""
    return tmp_path_factory.mktemp("methods")


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("sft", ("--lora", "4", "--adapter", "--from-last", "--rounds", "2")),
        ("dpo", ("--lora", "4")),
        ("kto", ()),
        ("grpo", ("--answer-tokens", "32", "--batch-size", "9")),
    ],
)
def test_each_method_trains_on_judged_samples_and_what_it_made_is_asked(
    made: Path, few: Path, method: str, more: tuple[str, ...]
) -> None:
    given = ("--limit", "6", "--eval-limit", "2", "--answer-tokens", "24", "--epochs", "1", "--rounds", "1")
    told = ended(improve(made, few, *given, "--method", method, *more, out=method), 0)
    models = told[-1]["models"]
    assert len({model["revision"] for model in models}) == len(models) == (3 if method == "sft" else 2)
    for model in models[1:]:
        assert model["trained"]["method"] == method and model["rows"] and model["trained"]["steps"]
        assert model["figures"][str(made / "eval")]["samples"] == 8, "it has answered"
    folder = few / method / "model"
    assert (folder / "adapter_config.json").is_file() is (method == "sft")
    rows = [json.loads(line) for line in (few / method / "round-1" / "rows.jsonl").read_text().splitlines()]
    if method == "kto":
        assert {row["label"] for row in rows} == {True, False}
    if method == "grpo":
        assert all(0 < row["correct_ratio"] < 1 for row in rows), "where all answers are alike nothing is compared"
        with closing(sqlite3.connect(few / "data" / "groundwire" / "groundwire.db")) as ledger:
            (rewarded,) = ledger.execute("SELECT count(*) FROM runs WHERE graph = 'reward'").fetchone()
        assert rewarded == 1, "what it sampled while it was trained is in the ledger"


def test_sets_that_overlap_are_refused_and_can_be_left_out(made: Path, tmp_path: Path) -> None:
    shared = write_tasks(tmp_path / "shared", [*EVALUATED[:1], *TRAINED[:1]])
    refused = ended(improve(made, tmp_path, held=str(shared)), 2)
    assert f"overlaps with the training tasks: 1 task: {TRAINED[0].name}" in refused[-1]["error"]["what"]
    assert "--drop-overlaps" in refused[-1]["error"]["do"] and not (tmp_path / "out").exists()


def test_no_right_sample_and_a_model_that_only_says_one_thing_each_end_the_loop_with_its_report(
    made: Path, tmp_path: Path
) -> None:
    never = write_tasks(tmp_path / "never", [Sum(("+", n)) for n in (31, 47)])  # numbers that it has never read
    told = ended(improve(made, tmp_path, "--eval-limit", "2", tasks=str(never)), 1)
    assert told[-1]["stopped"].startswith("no row is left to train on (of 12 samples 0 are right)")
    assert "Nothing was trained." in (tmp_path / "out" / "report.md").read_text()
    other = tmp_path / "other"
    greedy = ended(improve(made, other, "--temperature", "0", "--limit", "2", "--eval-limit", "2"), 1)
    assert "all samples of every task are one program" in greedy[-1]["stopped"]


def test_a_model_without_a_chat_template_or_that_is_no_folder_is_refused_at_once(made: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for file in (made / "base").iterdir():
        if file.name != "chat_template.jinja":
            (bare / file.name).write_bytes(file.read_bytes())
    refused = ended(improve(made, tmp_path, model=f"transformers:{bare}"), 2)
    assert "has no chat template" in refused[-1]["error"]["what"]
    refused = ended(improve(made, tmp_path, model="openai/gpt-5-mini"), 2)
    assert "not a folder of weights" in refused[-1]["error"]["what"]
    assert not (tmp_path / "out").exists()
