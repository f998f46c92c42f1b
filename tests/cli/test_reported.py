"""`groundwire verify REPORT`: what an ordinary run reported of itself, held against the same tests in the sandbox."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli import BUGGY, lay_out
from work_trees import RIGHT

from groundwire.cli._reported import again, is_report
from groundwire.cli._verify import verify_target
from groundwire.core._errors import ConfigError


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose tests pass, with the report of that."""
    folder = lay_out(tmp_path_factory.mktemp("shop"), {**BUGGY, "shop/price.py": RIGHT})
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "groundwire_audit._pytest_plugin"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--groundwire"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, **alone})
    return folder / "groundwire-report.json"


def verified(path: Path, capsys: pytest.CaptureFixture[str], **given: Any) -> tuple[int, dict[str, Any]]:
    code = verify_target(str(path), {}, key=None, statement=None, as_json=True, **given)
    return code, json.loads(capsys.readouterr().out)


def test_a_report_that_is_so_agrees_and_a_lie_differs(reported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = verified(reported, capsys)
    assert (code, said["agrees"], said["verdict"]) == (0, True, "pass")
    assert (said["isolation"], said["changed_files"]) == ("two_boxes", [])
    assert said["reported"] == {"cases": 2, "exit_code": 0, "origin": "reported"}

    broken = lay_out(reported.parent.parent / "broken", BUGGY)
    code, said = verified(reported, capsys, project=broken)
    assert (code, said["agrees"], said["verdict"]) == (1, False, "fail")
    assert said["otherwise"] == [{"id": "tests/test_price.py::test_some", "reported": "passed", "seen": "failed"}]
    assert said["changed_files"] == ["shop/price.py"]


def test_a_report_for_people_and_one_about_nothing(
    reported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = json.loads(reported.read_text())
    forged["arguments"] = ["-q", "-k", "nothing; touch forged"]
    forged["root"] = str(lay_out(tmp_path / "shop", BUGGY))
    forged["cases"] = [{"id": "\x1b[31mx", "result": "passed"}]
    (tmp_path / "r.json").write_text(json.dumps(forged))
    assert verify_target(str(tmp_path / "r.json"), {}, key=None, statement=None, as_json=False) == 3
    out = capsys.readouterr().out
    assert "reported: 1 of 1 case pass   (proves nothing by itself)" in out
    assert "nothing can be said of the report" in out
    assert "\x1b" not in out
    assert not list(tmp_path.rglob("forged"))


@pytest.mark.parametrize(
    ("change", "why"),
    [({"origin": "tests"}, "origin"), ({"cases": [{"id": "a", "result": "great"}]}, "result"), ({"root": 7}, "root")],
)
def test_what_is_no_report_is_refused(change: dict[str, Any], why: str, reported: Path, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps({**json.loads(reported.read_text()), **change}))
    with pytest.raises(ConfigError, match=why):
        verify_target(str(tmp_path / "r.json"), {}, key=None, statement=None, as_json=False)


def test_how_a_run_was_spread_and_reported_is_not_run_again() -> None:
    given = "-n auto -n4 --dist loadfile --cov=shop --cov-report xml --junitxml=r.xml -k x --html r.html tests/a.py"
    assert again(given.split()) == ["-k", "x", "tests/a.py"]


def test_a_ledger_and_a_statement_are_no_reports() -> None:
    assert not is_report(b"SQLite format 3\0")
    assert not is_report(b'{"payloadType": "application/vnd.in-toto+json"')
