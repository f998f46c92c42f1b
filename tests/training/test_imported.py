"""Published logs, once they are in the ledger: exported like any run, and marked as the log's word."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from small_logs import lay_out_worlds, write_ldb

from groundwire.cli._export import ExportRequest, run_export
from groundwire.cli._import_logs import import_logs


def test_logs_give_rows_that_say_that_nothing_was_run_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = {"db": f"sqlite:///{tmp_path / 'ledger.db'}"}
    (tmp_path / "ldb").mkdir()
    paths = [lay_out_worlds(tmp_path / "worlds"), write_ldb(tmp_path / "ldb" / "humaneval_gpt35.jsonl.gz")]
    import_logs(paths, flags, only=[], trials=0, again=False, as_json=True)
    runs = {one["name"]: one["run_id"] for one in map(json.loads, capsys.readouterr().out.splitlines())}

    def rows(name: str, *logs: str) -> list[dict[str, Any]]:
        out = tmp_path / f"{name}.jsonl"
        asked = ExportRequest(runs=[runs[log] for log in logs], form=name, out=out, as_json=True)
        assert run_export(asked, flags) == 0
        capsys.readouterr()
        return [json.loads(line) for line in out.read_text().splitlines()]

    programs = rows("kto", "ldb/humaneval_gpt35")
    # the last one passes what its author was shown, and hidden tests have the last word
    assert [(row["label"], row["provenance"]["hidden"]) for row in programs] == [
        (False, False),
        (True, True),
        (False, True),
    ]
    assert {tuple(row["provenance"]["imported"]) for row in programs} == {("ldb/humaneval_gpt35",)}
    assert {row["provenance"]["seals"] for row in programs} == {"verified"}
    worlds = rows("trajectory", "worlds/reflexion", "worlds/base")
    assert {row["reward"] for row in worlds} == {0.0, 1.0} and all(row["provenance"]["imported"] for row in worlds)


def exported(folder: Path, form: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    flags = {"db": f"sqlite:///{folder / 'ledger.db'}"}
    import_logs([folder], flags, only=[], trials=0, again=False, as_json=True)
    run_id = json.loads(capsys.readouterr().out.splitlines()[0])["run_id"]
    out = folder / f"{form}.rows"
    run_export(ExportRequest(runs=[run_id], form=form, out=out.with_suffix(".jsonl"), as_json=True), flags)
    capsys.readouterr()
    return [json.loads(line) for line in out.with_suffix(".jsonl").read_text().splitlines()]


def test_steps_that_do_the_same_in_other_words_are_no_pair_and_under_no_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One walk failed and one won, and both began with one search: nothing says which way of putting it is better."""
    began = "Question: Where is it?\nThought 1: {}\nAction 1: Search[it]\nObservation 1: It is far.\n"
    walk = f"{began}Thought 2: So.\nAction 2: Finish[{{}}]\nObservation 2: Answer is {{}}\nCorrect answer: Ulm\n\n"
    rule = "#" * 40
    trials = [
        ("INCORRECT", walk.format("I search.", "far", "INCORRECT")),
        ("CORRECT", walk.format("I look.", "Ulm", "CORRECT")),
    ]
    (tmp_path / "react_base_2trials.txt").write_text(
        "".join(
            f"\n{rule}\nBEGIN TRIAL {at}\nTrial summary: Correct: {at - 1}, Incorrect: {2 - at}, Halted: 0\n{rule}\n"
            f"-------------- BEGIN {kind} AGENTS -------------\n\n{text}"
            for at, (kind, text) in enumerate(trials, 1)
        )
    )
    labels = {row["completion"][0]["content"]: row["label"] for row in exported(tmp_path, "kto", capsys)}
    assert sorted(labels.values()) == [False, True] and not any("Search" in text for text in labels)


def test_a_program_that_hidden_tests_judged_is_right_in_every_trial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same program twice, which its author's own test refuses and the hidden ones pass: one reward, not two."""
    head = 'def f(x):\n    """One more."""\n'
    wrong, right = f"{head}    return x\n", f"{head}    return x + 1\n"
    row = {
        "task_id": "HumanEval/0",
        "entry_point": "f",
        "prompt": head,
        "test": "def check(candidate):\n    assert candidate(2) == 3\n",
        "given_tests": ["assert f(1) == 3"],
        "generated_test": ["assert f(1) == 3"],
        "implementations": [wrong, right, wrong, right],
        "test_feedback": [["assert f(1) == 3 # Real Execution Output: 2"]] * 4,
        "is_passing": False,
        "is_solved": True,
    }
    (tmp_path / "humaneval_gpt35.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode()))
    rows = exported(tmp_path, "grpo", capsys)
    assert [row["reward"] for row in rows] == [0.0, 1.0, 0.0, 1.0]
    assert {row["correct_ratio"] for row in rows} == {0.5}
    assert [row["provenance"]["signal_origins"] for row in rows][1] == ["hidden_tests"]
