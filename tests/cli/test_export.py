"""`groundwire export`, as it is called."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from contextlib import aclosing
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pyarrow.parquet as parquet
import pytest
from cli import groundwire
from guessing import Check
from recorded_runs import Certain, ledger_at, question, repairing, run, saying
from reported import guessed
from typer.testing import CliRunner

from groundwire import FeedbackGraph, Origin, Task
from groundwire.cli._export import ExportRequest, run_export
from groundwire.cli._report import run_report
from groundwire.cli.commands._app import app
from groundwire.core._errors import ConfigError, SealError, StorageError
from groundwire.core._models import Completion, Request
from groundwire.core._records import RunRecord
from groundwire.memory import SqlStore
from groundwire.training import Row, forms
from groundwire.training._catalogue import form, form_names
from groundwire.training._schema import Provenance


def recorded(folder: Path, graph: FeedbackGraph, *tasks: Task, **options: Any) -> RunRecord:
    async def work() -> RunRecord:
        async with aclosing(ledger_at(folder)) as store:
            return await run(store, graph, *tasks, **options)

    return asyncio.run(work())


def exported(folder: Path, name: str, *runs: RunRecord, out: str = "rows.jsonl", **options: Any) -> int:
    asked = ExportRequest(runs=[r.id for r in runs], form=name, out=folder / out, as_json=True, **options)
    return run_export(asked, {"db": f"sqlite:///{folder / 'ledger.db'}"})


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_program_writes_rows_and_says_what_they_are(tmp_path: Path) -> None:
    record = recorded(
        tmp_path, repairing([saying("41"), saying("42"), saying("42")], name="m-1"), question(), question()
    )
    db, out = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "rows.jsonl"
    done = groundwire("export", record.id[:13], "--format", "kto", "--out", out, "--target-model", "m-2", "--db", db)
    assert done.code == 0, done.err
    rows = lines(out)
    assert [row["label"] for row in rows] == [False, True, True]
    assert all(row["provenance"]["off_policy"] and row["provenance"]["target_model"] == "m-2" for row in rows)
    assert {p["origin"] for row in rows for p in row["provenance"]["origins"]} == {"human", "env", "model"}
    assert (
        "3 rows from 2 episodes" in done.err
        and "warning: off-policy: 3 of 3 rows come from m-1, not from m-2" in done.err
    )
    assert sorted(p.name for p in tmp_path.glob("*rows*")) == ["rows.jsonl"], "nothing half-written is left"
    with pytest.raises(ConfigError, match=r"no format 'dpq'"):
        exported(tmp_path, "dpq", record)
    assert lines(out) == rows


def test_on_policy_rows_duplicates_and_both_file_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = recorded(tmp_path, repairing([saying("42")] * 3, name="m-1"), *[question()] * 3)
    assert exported(tmp_path, "sft", record, target_model="m-1") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["rows"], told["duplicates"], told["off_policy"], told["warnings"]) == (1, 2, 0, [])
    assert told["origins"] == {"env": 1} and lines(tmp_path / "rows.jsonl")[0]["provenance"]["off_policy"] is False
    for name in ("sft", "grpo", "trajectory"):
        assert exported(tmp_path, name, record) == 0
        assert exported(tmp_path, name, record, out="rows.parquet") == 0
        table = written(tmp_path / "rows.parquet")
        assert len(table) == len(lines(tmp_path / "rows.jsonl")) == (1 if name == "sft" else 3)
        for mine, theirs in zip(lines(tmp_path / "rows.jsonl"), table, strict=True):
            assert without_nothing(mine) == without_nothing(theirs)
    capsys.readouterr()


def written(path: Path) -> list[dict[str, Any]]:
    """The rows of a Parquet file."""
    reader: Any = parquet  # it has no types
    return reader.read_table(path).to_pylist()


def without_nothing(value: Any) -> Any:
    """A value without its nulls: a Parquet file has every column of every struct."""
    if isinstance(value, dict):
        return {k: without_nothing(v) for k, v in value.items() if v is not None}  # pyright: ignore[reportUnknownVariableType]  # JSON
    return [without_nothing(v) for v in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]  # JSON


class Upgraded(Certain):
    """A server that is upgraded after the first answer."""

    async def complete(self, request: Request) -> Completion:
        """See `Backend`."""
        completion = await super().complete(request)
        return completion.model_copy(update={"model": f"rev-{min(len(self.requests), 2)}"})


def test_what_is_refused_and_what_may_be_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "rows.jsonl"
    out.write_text("what was there\n")
    opinion = recorded(tmp_path, repairing([saying("42")], check=Check(("42",), origin=Origin.MODEL_TESTS)))
    assert exported(tmp_path, "sft", opinion) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["refused"], told["file"]) == ({"no_verdict": 1}, None)
    assert "no executed check" in told["examples"]["no_verdict"][0]

    mixed = recorded(tmp_path, repairing([], backend=Upgraded([saying("41"), "Think.", saying("42")])))
    with pytest.raises(ConfigError, match=r"more than one model or revision: .*rev-1.*rev-2"):
        exported(tmp_path, "kto", mixed)
    assert out.read_text() == "what was there\n"
    assert exported(tmp_path, "kto", mixed, mixed_revisions=True, out="mixed.jsonl") == 0
    rows = lines(tmp_path / "mixed.jsonl")
    assert [row["provenance"]["model_revision"] for row in rows] == ["rev-1", "rev-2"]
    assert rows[0]["provenance"]["flaws"] == ["mixed_revisions"]

    right = recorded(tmp_path, repairing([saying("42")]))
    key = next((tmp_path / "xdg_state_home").rglob(right.id))
    key.rename(tmp_path / "elsewhere")
    assert exported(tmp_path, "sft", right) == 1
    assert exported(tmp_path, "sft", right, unverified=True, out="unverified.jsonl") == 0
    assert lines(tmp_path / "unverified.jsonl")[0]["provenance"]["seals"] == "unverified"
    assert out.read_text() == "what was there\n"
    capsys.readouterr()


def test_no_row_shows_the_answer_or_a_hidden_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"task": "sum", "answers": ["Forty  Two"]}\n')
    check, told = Check(("42",)), "It is forty two, I was told."
    leaked = recorded(tmp_path, repairing([saying("41"), saying("42")], check=check, reflection=told))
    assert exported(tmp_path, "kto", leaked, gold=gold) == 0
    assert json.loads(capsys.readouterr().out)["rejected"] == {"holds_the_answer": 1}
    assert [row["label"] for row in lines(tmp_path / "rows.jsonl")] == [False], "the first prompt did not show it"
    said = recorded(tmp_path, repairing([saying("forty two")], check=Check(("forty two",))))
    assert exported(tmp_path, "sft", said, gold=gold) == 1, "the lesson of the first run shows it"
    (tmp_path / "new").mkdir()
    said = recorded(tmp_path / "new", repairing([saying("forty two")], check=Check(("forty two",))))
    assert exported(tmp_path / "new", "sft", said, gold=gold) == 0, "an answer may hold the answer"
    planted = "gwcanary" + "0123456789abcdef" * 2
    canary = recorded(tmp_path, repairing([saying(f"42 {planted}")]))
    capsys.readouterr()
    assert exported(tmp_path, "trajectory", canary) == 1
    assert json.loads(capsys.readouterr().out)["rejected"] == {"hidden_test_canary": 1}
    gold.write_text('{"task": "sum"}\n')
    with pytest.raises(ConfigError, match=r"gold.jsonl:1 names no task with answers"):
        exported(tmp_path / "new", "sft", said, gold=gold)


def test_lines_of_hidden_tests_are_known_from_the_tasks_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "project"
    (project / "secret").mkdir(parents=True)
    (project / "answer.txt").write_text("?\n")
    (project / "task.toml").write_text(
        'prompt = "Count."\neditable = ["answer.txt"]\n[hidden]\ncommand = "pytest secret"\n'
    )
    line = 'assert int(open("answer.txt").read()) == 4711 + 42'
    (project / "secret" / "test_it.py").write_text(f"def test_it():\n    {line}\n")
    task = Task.from_folder(project)
    record = recorded(tmp_path, repairing([saying(f"42 {line}"), saying("42")]), task, task)
    assert exported(tmp_path, "sft", record) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["rejected"], told["rows"]) == ({"hidden_test_text": 1}, 1)


def test_files_that_cannot_be_written_and_parquet_without_pyarrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = recorded(tmp_path, repairing([saying("42")]))
    for out, says in (("rows.csv", "ends in neither"), ("nowhere/rows.jsonl", "not there")):
        with pytest.raises(ConfigError, match=says):
            exported(tmp_path, "sft", record, out=out)
    with pytest.raises(StorageError, match="File name too long"):
        exported(tmp_path, "sft", record, out=f"{'x' * 245}.jsonl")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"groundwire\[training\]"):
        run_export(
            ExportRequest(runs=[record.id], form="sft", out=tmp_path / "rows.parquet"),
            {"db": f"sqlite:///{tmp_path / 'ledger.db'}"},
        )
    assert not list(tmp_path.glob("*rows*"))


def test_a_run_that_no_model_wrote_says_why_it_has_no_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db"

    async def made() -> str:
        async with aclosing(SqlStore(url)) as store:
            return await guessed(store, [("one", ["no", "right"])])

    asked = ExportRequest(runs=[asyncio.run(made())], form="sft", out=tmp_path / "rows.jsonl")
    assert run_export(asked, {"db": url}) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "nothing could be exported" in said and "Export a run that was made with --model" in said


def test_schemas_and_the_list_of_formats() -> None:
    runner = CliRunner()
    listed = json.loads(runner.invoke(app, ["export", "--list", "--json"]).stdout)
    assert [one["name"] for one in listed] == list(form_names()) and all(one["about"] for one in listed)
    for name in form_names():
        schema = json.loads(runner.invoke(app, ["export", "--schema", name]).stdout)
        assert schema["$id"].startswith(f"groundwire.training.{name}.v")
        undescribed = [n for n, p in schema["properties"].items() if "description" not in p and "$ref" not in p]
        assert undescribed == [], f"{name}: every column says what it holds"


def test_the_guide_names_every_column_that_trainers_read() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
    for module in iter_modules(forms.__path__):
        own = set(form(module.name.removeprefix("_")).row.model_fields) - set(Row.model_fields)
        assert [column for column in own if f"`{column}`" not in guide] == [], module.name
    assert [name for name in Provenance.model_fields if f"`{name}`" not in guide] == []


def test_numbers_of_single_formats_reach_the_command_line(tmp_path: Path) -> None:
    record = recorded(tmp_path, repairing([saying("41"), saying("42")]), question(), trials=2)
    db, out = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "rows.jsonl"
    runner = CliRunner()

    def rows(name: str, *more: str) -> list[dict[str, Any]]:
        asked = ["export", record.id, "--format", name, "--out", str(out), "--db", db, *more]
        assert (done := runner.invoke(app, asked)).exit_code == 0, done.output
        return lines(out)

    assert [row["shaped_reward"] for row in rows("two_attempts")] == [11.0]
    assert [row["shaped_reward"] for row in rows("two_attempts", "--set", "score_alpha=2")] == [3.0]
    assert [round(row["weight"], 3) for row in rows("rise", "--set", "rise_tau=1")] == [1.0, 2.718]
    assert len(rows("grpo", "--min-group", "1")) == 2
    alone = runner.invoke(app, ["export", record.id, "--format", "grpo", "--out", str(out), "--db", db, "--json"])
    assert alone.exit_code == 1 and json.loads(alone.stdout)["rejected"] == {"group_too_small": 2}
    with pytest.raises(ConfigError, match="no 'alpha' to be set"):
        runner.invoke(
            app,
            ["export", record.id, "--format", "rise", "--out", str(out), "--db", db, "--set", "alpha=1"],
            catch_exceptions=False,
        )


def test_the_list_keeps_names_and_what_they_are_for_apart() -> None:
    printed = CliRunner().invoke(app, ["export", "--list"]).stdout.splitlines()
    assert [line.partition("  ")[0] for line in printed] == list(form_names())


def test_a_ledger_that_was_changed_is_neither_exported_nor_reported_on(tmp_path: Path) -> None:
    record = recorded(tmp_path, repairing([saying("41"), saying("42")]), question())
    with sqlite3.connect(tmp_path / "ledger.db") as ledger:
        changed = ledger.execute("UPDATE signals SET verdict = 'pass' WHERE verdict = 'fail'").rowcount
    assert changed
    with pytest.raises(SealError):
        exported(tmp_path, "kto", record)
    with pytest.raises(SealError):
        run_report([record.id], {"db": f"sqlite:///{tmp_path / 'ledger.db'}"}, control=None, html=None, as_json=True)
