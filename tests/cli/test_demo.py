"""`groundwire demo` on the real machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli import groundwire

from groundwire.cli._demo import LIMITS, busy_line, gain_line


def test_its_limits_are_work_so_that_a_busy_machine_changes_nothing_but_the_time() -> None:
    assert LIMITS.keys() == {"max_trials", "width"}
    assert busy_line(0.4, 2) == ""
    assert busy_line(9.5, 2) == "This machine is busy (load 9.5, 2 cores): it takes longer, and ends the same."


def test_what_the_check_brought_is_said_with_its_interval_or_why_it_has_none() -> None:
    assert gain_line(4, 9) == "what the check brought: +44 points (95 % interval +19 to +73)"
    assert gain_line(0, 9) == "what the check brought: +0 points (95 % interval +0 to +30): nothing, this time"
    assert gain_line(0, 0) == "what the check brought can't be said: no function was finished"


def test_its_projects_are_written_into_a_new_folder_to_try_commands_on(tmp_path: Path) -> None:
    ran = groundwire("demo", "--projects", tmp_path / "tries", "--json")
    assert (ran.code, ran.data["projects"][0], len(ran.data["projects"])) == (0, "1_booking", 6)
    assert (tmp_path / "tries" / "1_booking" / "task.toml").is_file()
    again = groundwire("demo", "--projects", tmp_path / "tries")
    assert again.code == 2 and "can't be made: File exists" in again.err
    taken = groundwire("demo", "--projects", tmp_path / "others")
    assert f"next:  groundwire repair {tmp_path / 'others' / '1_booking'}" in taken.out


@pytest.mark.slow
def test_the_demo_repairs_what_is_within_reach() -> None:
    ran = groundwire("demo", "--json")
    outcomes = {e["task_id"]: e for e in ran.data["episodes"]}
    assert ran.code == 0, outcomes
    assert len(outcomes) >= 5
    unsolved = [name for name, e in outcomes.items() if e["stop_reason"] != "verified"]
    assert unsolved == ["6_durations"]
    assert all(e["hidden"]["verdict"] == "pass" for name, e in outcomes.items() if name not in unsolved)
