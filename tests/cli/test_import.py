"""`groundwire import`: from a folder of logs to a report with its control."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli import groundwire
from small_logs import lay_out_worlds

from groundwire.cli._import_logs import import_logs
from groundwire.core._errors import RecordingError


def test_a_folder_is_imported_once_and_reported_on(tmp_path: Path) -> None:
    folder = lay_out_worlds(tmp_path / "worlds")
    flags = ["--db", f"sqlite:///{tmp_path}/ledger.db"]
    ran = groundwire("import", str(folder), "--json", *flags)
    assert ran.code == 0
    main, control = [json.loads(line) for line in ran.out.splitlines()]
    assert (main["name"], main["solved_by_trial"]) == ("worlds/reflexion", [1, 2, 2])
    assert (control["name"], control["solved_by_trial"]) == ("worlds/base", [1, 1])

    again = groundwire("import", str(folder), *flags)
    assert again.code == 0
    assert f"worlds/reflexion: imported before, as run {main['run_id']}" in again.out
    assert f"groundwire report {main['run_id']} --control {control['run_id']}" in again.out

    report = groundwire("report", main["run_id"], *flags)
    assert report.code == 0
    assert "as the published log worlds/reflexion has it: nothing of it was run here" in report.out
    assert "control: B" in report.out, "the run without reflections is its control"


def test_an_unknown_name_is_an_error_that_lists_the_known(tmp_path: Path) -> None:
    folder = lay_out_worlds(tmp_path / "worlds")
    with pytest.raises(RecordingError, match="no logged run called nope") as error:
        import_logs([folder], {}, only=["nope"], trials=0, again=False, as_json=False)
    assert "worlds/reflexion" in str(error.value)
