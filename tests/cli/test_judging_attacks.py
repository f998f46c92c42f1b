"""Candidates that solve nothing, handed in through the real command line as an agent would: none is called verified."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from attacks.judging import COMMANDS, attacks, project, right
from cli import Ran, groundwire, lay_out
from services import IMAGE

RUNNERS = ("pytest", "unittest", "doctest")
HIDDEN = ("pytest", "unittest")


def hand_in(tmp_path: Path, runner: str, files: dict[str, str], *flags: str, hidden: bool = True) -> Ran:
    folder = lay_out(tmp_path / "project", project(runner))
    visible_command, hidden_command = COMMANDS[runner]
    if not hidden and hidden_command:
        for path in sorted((folder / "hidden").iterdir()):
            path.unlink()
        (folder / "hidden").rmdir()
    put = tmp_path / "put.py"
    put.write_text(
        f"import json, pathlib\nfor path, text in json.loads({json.dumps(files)!r}).items():\n"
        "    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)\n    pathlib.Path(path).write_text(text)\n"
    )
    asked = ["--hidden", hidden_command, "--hidden-dir", "hidden"] if hidden and hidden_command else []
    return groundwire(
        "repair", folder, "--actor-command", f"{sys.executable} {put}", "--test", visible_command, *asked,
        "--no-actor-sandbox", "--max-trials", "1", "--rejudge", "0", "--json", *flags,
    )  # fmt: skip


def cases(runners: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(runner, name) for runner in runners for name in attacks(runner)]


@pytest.mark.slow
@pytest.mark.parametrize(("runner", "name"), cases(HIDDEN))
def test_with_hidden_tests(tmp_path: Path, runner: str, name: str) -> None:
    ran = hand_in(tmp_path, runner, attacks(runner)[name])
    assert ran.code != 0 and ran.data["stop_reason"] != "verified", ran.out + ran.err


@pytest.mark.slow
@pytest.mark.parametrize(("runner", "name"), cases(RUNNERS))
def test_with_visible_tests_alone(tmp_path: Path, runner: str, name: str) -> None:
    """What can be read there can be answered; nothing else gets through."""
    if name in ("answers with what equals everything", "lays a package beside the module"):
        pytest.skip("it gives the one answer, or shows the text, that the visible tests ask for")
    ran = hand_in(tmp_path, runner, attacks(runner)[name], hidden=False)
    assert ran.code != 0 and ran.data["stop_reason"] != "verified", ran.out + ran.err


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["landlock", pytest.param("docker", marks=pytest.mark.docker)])
@pytest.mark.parametrize("name", attacks("pytest"))
def test_in_other_sandboxes(tmp_path: Path, kind: str, name: str) -> None:
    ran = hand_in(tmp_path, "pytest", attacks("pytest")[name], "--sandbox", kind, "--image", IMAGE)
    assert ran.code not in (0, 2) and ran.data["stop_reason"] != "verified", ran.out + ran.err


@pytest.mark.parametrize("hidden", [True, False])
@pytest.mark.parametrize("runner", RUNNERS)
def test_what_solves_it_is_verified_in_two_boxes(tmp_path: Path, runner: str, hidden: bool) -> None:
    ran = hand_in(tmp_path, runner, right(runner), "--require-two-boxes", hidden=hidden)
    assert ran.code == 0, ran.out + ran.err
    assert (ran.data["isolation"], ran.data["unforgeable"]) == ("two_boxes", True)
    assert "two boxes" in groundwire("show", ran.data["run_id"]).out


@pytest.mark.parametrize("kind", ["landlock", pytest.param("docker", marks=pytest.mark.docker)])
def test_what_solves_it_is_verified_in_other_sandboxes(tmp_path: Path, kind: str) -> None:
    ran = hand_in(tmp_path, "pytest", right("pytest"), "--sandbox", kind, "--image", IMAGE)
    assert ran.code == 0 and ran.data["isolation"] == "two_boxes", ran.out + ran.err


def test_a_plain_subprocess_says_what_it_is_worth(tmp_path: Path) -> None:
    ran = hand_in(tmp_path, "pytest", right("pytest"), "--sandbox", "subprocess", hidden=False)
    assert (ran.code, ran.data["isolation"], ran.data["unforgeable"]) == (0, "in_process", False), ran.out + ran.err
    assert "in one process: not unforgeable" in groundwire("show", ran.data["run_id"]).out


READS_THE_LOG = "from calc import f\ndef test_it(caplog):\n    assert f(1) == 2\n"


@pytest.mark.parametrize(
    ("changed", "flags", "says"),
    [
        ({}, ("--sandbox", "subprocess"), "no box"),
        ({"tests/test_seen.py": READS_THE_LOG}, (), "caplog"),
    ],
)
def test_two_boxes_that_are_required_and_can_not_be_had(
    tmp_path: Path, changed: dict[str, str], flags: tuple[str, ...], says: str
) -> None:
    folder = lay_out(tmp_path / "project", {**project("pytest"), **changed})
    ran = groundwire("repair", folder, "--test", COMMANDS["pytest"][0], "--require-two-boxes", *flags)
    assert ran.code == 2 and "Two boxes are required" in ran.err and says in ran.err, ran.out + ran.err
