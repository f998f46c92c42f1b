"""`pytest --groundwire`: the report of an ordinary run, and no effect unless it is asked for."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TESTS = """
import pytest, thing

def test_good(): assert thing.two() == 2
def test_bad(): assert thing.two() == 3, "\\x1b[31m"
def test_left_out(): pytest.skip("not here")
@pytest.mark.xfail
def test_expected(): assert False
@pytest.fixture
def breaks(): raise OSError("no")
def test_set_up(breaks): pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (tmp_path / "thing.py").write_text("def two():\n    return 2\n")
    (tmp_path / "tests/test_thing.py").write_text(TESTS)
    (tmp_path / "tests/test_broken.py").write_text("import nowhere_at_all\n")
    return tmp_path


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # without the plugins of strangers, which take a second to load
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "groundwire_audit._pytest_plugin"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **alone})


def test_a_report_says_what_each_case_came_to_and_which_files_took_part(project: Path) -> None:
    done = ran(
        project / "tests", "-q", "--continue-on-collection-errors", "--groundwire=../r.json", "test_thing.py", "."
    )
    said: dict[str, Any] = json.loads((project / "r.json").read_text())
    assert (said["format"], said["origin"], said["root"]) == ("groundwire-pytest-report-1", "reported", str(project))
    assert {case["id"]: case["result"] for case in said["cases"]} == {
        "tests/test_broken.py": "error",
        "tests/test_thing.py::test_good": "passed",
        "tests/test_thing.py::test_bad": "failed",
        "tests/test_thing.py::test_left_out": "skipped",
        "tests/test_thing.py::test_expected": "xfailed",
        "tests/test_thing.py::test_set_up": "error",
    }
    assert said["arguments"][-2:] == ["tests/test_thing.py", "tests"], "as from the project's root"
    assert not [given for given in said["arguments"] if "groundwire" in given]
    assert said["files"]["thing.py"] == hashlib.sha256((project / "thing.py").read_bytes()).hexdigest()
    assert set(said["files"]) == {"thing.py", "tests/test_thing.py"}
    assert said["exit_code"] == done.returncode == 1
    assert "groundwire verify" in done.stdout


def test_nothing_is_written_or_loaded_unless_asked_and_a_path_needs_its_sign(project: Path) -> None:
    (project / "tests/test_thing.py").write_text(
        "import sys\ndef test_light():\n    assert 'groundwire_audit._pytest_report' not in sys.modules\n"
    )
    before = sorted(project.rglob("*"))
    assert ran(project, "-q", "tests/test_thing.py").returncode == 0
    assert [path for path in sorted(project.rglob("*.json")) if path not in before] == []
    wrong = ran(project, "--groundwire", "tests/test_thing.py")
    assert (wrong.returncode, "write  --groundwire=PATH.json" in wrong.stderr) == (4, True)
    assert "there is no folder" in ran(project, "--groundwire=none/r.json").stderr
    (project / "tests/test_thing.py").write_text("def test_fine():\n    pass\n")
    (project / "r.json").mkdir()
    refused = ran(project, "-q", "--groundwire=r.json", "tests/test_thing.py")
    assert (refused.returncode, "can't be written" in refused.stderr) == (0, True), "a report costs no verdict"
    assert not list(project.glob(".r.json*"))
