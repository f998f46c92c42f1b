"""Published logs, once they are in the ledger: exported like any run, and marked as the log's word."""

from __future__ import annotations

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
