"""`groundwire task check`, and the strength of the tests that a repair says."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli import BUGGY, groundwire, lay_out

RIGHT = {"shop/price.py": BUGGY["shop/price.py"].replace("-=", "+=")}
TEST = "python -m pytest -q"
WEAK = {
    "mod.py": "def clamp(x, low, high):\n    return None\n",
    "tests/test_mod.py": "from mod import clamp\n\n\ndef test_a():\n    assert clamp(0, 1, 9) == 1\n",
}
CLAMP = """\
def clamp(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x
"""


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "task", BUGGY)


def test_a_task_has_to_fail_without_a_solution_and_to_pass_with_one(task: Path, tmp_path: Path) -> None:
    solution = lay_out(tmp_path / "solution", RIGHT)
    ran = groundwire("task", "check", task, "--test", TEST, "--solution", solution)
    assert ran.code == 0, ran.out + ran.err
    assert "✓ without a solution: fails" in ran.out
    assert "✓ with the solution: passes" in ran.out
    data = groundwire("task", "check", task, "--test", TEST, "--solution", solution, "--json").data
    assert (data["ok"], data["verdicts"]) == (True, {"empty": "fail", "solution": "pass"})
    # one case fails on the base tree, one does not; both were seen to be able to fail
    assert data["solution"]["tests"]["controls"]["changed_value"] == 2


@pytest.mark.usefixtures("one_look")
def test_a_patch_is_a_solution_too(task: Path, tmp_path: Path) -> None:
    patch = tmp_path / "fix.patch"
    assert groundwire("repair", task, "--test", TEST, "--patch", patch, "--test-strength", "off").code == 0
    assert groundwire("task", "check", task, "--test", TEST, "--solution", patch).code == 0


def test_a_task_that_passes_as_it_is_is_none(tmp_path: Path) -> None:
    ran = groundwire("task", "check", lay_out(tmp_path / "done", {**BUGGY, **RIGHT}), "--test", TEST)
    assert ran.code == 1
    assert "✗ without a solution: passes" in ran.out


def test_a_solution_that_fails_or_may_not_be_is_said(task: Path, tmp_path: Path) -> None:
    wrong = lay_out(tmp_path / "wrong", {"shop/price.py": "def total(prices):\n    return 7\n"})
    assert groundwire("task", "check", task, "--test", TEST, "--solution", wrong).code == 1
    tests = lay_out(tmp_path / "tests", {"tests/test_price.py": "def test_none():\n    pass\n"})
    ran = groundwire("task", "check", task, "--test", TEST, "--solution", tests)
    assert ran.code == 2
    assert "tests/test_price.py" in ran.err
    assert groundwire("task", "check", task, "--solution", tmp_path / "nowhere").code == 2


def test_tests_that_cannot_fail_give_no_verdict(tmp_path: Path) -> None:
    files = {"mod.py": "raise ValueError\n", "tests/test_mod.py": "def test_a():\n    import mod\n    mod.f()\n"}
    solution = lay_out(tmp_path / "solution", {"mod.py": "def f():\n    return 1\n"})
    ran = groundwire("task", "check", lay_out(tmp_path / "task", files), "--test", TEST, "--solution", solution)
    assert ran.code == 3
    assert "able to fail" in ran.out


def test_a_repair_says_how_strong_the_tests_are(tmp_path: Path) -> None:
    writes = tmp_path / "write.sh"
    writes.write_text(f"#!/bin/sh\ncat > mod.py <<'E'\n{CLAMP}E\n")
    writes.chmod(0o755)
    project = lay_out(tmp_path / "weak", WEAK)
    ran = groundwire("repair", project, "--test", TEST, "--actor-command", str(writes), "--no-actor-sandbox")
    assert ran.code == 0, ran.out + ran.err
    assert "verified patch, weak tests:" in ran.out
    assert "test strength: the tests notice" in ran.out
    assert "controls show that 1 of 1 cases can fail" in ran.out
    shown = groundwire("show", ran.out.split()[1])
    assert "test strength: the tests notice" in shown.out
    data = groundwire("show", ran.out.split()[1], "--json").data
    strength = data["episodes"][0]["test_strength"]
    assert strength["weak"]
    assert strength["judged"] == 8
    assert len(strength["survived"]) == 8 - strength["killed"]
    assert data["episodes"][0]["account"]["controls"][0]["changed_value"] == 1


@pytest.mark.usefixtures("one_look")
def test_a_repair_says_of_a_patch_that_it_may_fit_these_tests_alone(task: Path, tmp_path: Path) -> None:
    told = "def total(prices):\n    return 3 if prices == [1, 2] else 0\n"
    writes = lay_out(tmp_path / "actor", {"shop/price.py": told})
    by = ("--actor-command", f"cp -rT {writes} .", "--no-actor-sandbox", "--test-strength", "1")
    ran = groundwire("repair", task, "--test", TEST, *by)
    assert "verified patch, weak tests:" in ran.out, ran.out + ran.err
    assert "the patch may fit these tests alone: shop/price.py:2 answers an input of the tests" in ran.out
    assert "the patch may fit these tests alone" in groundwire("show", ran.out.split()[1]).out


@pytest.mark.usefixtures("one_look")
def test_it_can_be_left_out(task: Path) -> None:
    data = groundwire("repair", task, "--test", TEST, "--test-strength", "off", "--json").data
    assert data["test_strength"] is None
    strong = groundwire("repair", task, "--test", TEST, "--test-strength", "3", "--json").data["test_strength"]
    assert strong["judged"] == 3
    assert groundwire("repair", task, "--test-strength", "many").code == 2
