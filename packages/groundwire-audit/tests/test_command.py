"""`groundwire-audit` as a person and as CI call it; what it finds is tested elsewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from audit_cases import CASES, written

from groundwire_audit import main

CRITIC = CASES["1 write and critique, no map, no cap"]
PROGRAM = Path(sys.executable).with_name("groundwire-audit")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_installed_program_prints_and_exits_as_it_should(folder: Path) -> None:
    written(CRITIC, folder)
    ran = subprocess.run([PROGRAM, "target_graph.py"], cwd=folder, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "✗ ungrounded-loop: write → critique → write: nothing outside" in ran.stdout
    module = subprocess.run(
        [sys.executable, "-m", "groundwire_audit", "target_graph.py"], cwd=folder, capture_output=True, text=True
    )
    assert (module.returncode, module.stdout) == (1, ran.stdout)


def test_the_version_is_that_of_the_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"groundwire-audit {version('groundwire-audit')}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: TARGET"),
        (["x.py", "--magic"], "unrecognized arguments: --magic"),
        (["x.py", "--stri"], "unrecognized arguments: --stri"),
        (["x.py", "--timeout", "0"], "'0' is no number of seconds from 1 on"),
        (["x.py", "--timeout", "nan"], "'nan' is no number of seconds from 1 on"),
        (["x.py", "--timeout", "inf"], "'inf' is no number of seconds from 1 on"),
        (["x.py", "--timeout", "soon"], "'soon' is no number of seconds from 1 on"),
        (["x.py"], "error: x.py is neither a file, a folder nor module:graph."),
    ],
)
def test_what_cannot_be_asked_is_a_usage_error(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert (printed.out, said in printed.err) == ("", True)


def test_help_names_each_flag_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"], program="groundwire audit") == 0
    said = capsys.readouterr().out
    assert said.startswith("usage: groundwire audit ")
    assert set(re.findall(r"^  (--[a-z-]+)", said, flags=re.M)) == {
        "--call", "--source", "--import", "--role", "--roles", "--sarif", "--mermaid", "--svg", "--strict", "--trace",
        "--timeout", "--python", "--sandbox", "--env", "--json", "--version", "--exclude", "--tests", "--format",
        "--baseline", "--write-baseline", "--fail-on-new", "--fix", "--html",
    }  # fmt: skip
    assert "Exit codes: 0 nothing ungrounded" in said


def test_a_target_may_begin_with_a_dash(folder: Path) -> None:
    written(CRITIC, folder, "-odd")
    assert main(["--", "-odd.py"]) == 1


def test_sarif_and_json_come_from_one_call(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(CRITIC, folder)
    assert main(["target_graph.py", "--json", "--sarif", "a.sarif", "--svg", "a.svg"]) == 1
    assert json.loads(capsys.readouterr().out)["exit_code"] == 1
    driver = json.loads((folder / "a.sarif").read_text())["runs"][0]["tool"]["driver"]
    assert version("groundwire-audit") in json.dumps(driver)
    assert (folder / "a.svg").read_text().startswith("<svg ")


@pytest.mark.parametrize(
    ("variables", "styled"), [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)]
)
def test_only_a_terminal_gets_styles(
    variables: dict[str, str], styled: bool, folder: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    written(CRITIC.replace('"critique"', r'"crit\x1b[2Jique\u202e"'), folder)
    main(["target_graph.py"])
    said = capsys.readouterr().out
    assert ("\x1b[1;31m✗ \x1b[0m" in said) is styled
    assert "\x1b[2J" not in said and "\u202e" not in said
    plain = re.sub(r"\x1b\[[0-9;]*m", "", said)
    assert "✗ ungrounded-loop: write → crit�[2Jique� → write: nothing outside" in plain


def test_a_reader_that_has_seen_enough_is_no_error(folder: Path) -> None:
    written(CRITIC, folder)
    read, write = os.pipe()
    os.close(read)
    ran = subprocess.run([PROGRAM, "target_graph.py"], cwd=folder, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (ran.returncode, ran.stderr) == (1, "")
