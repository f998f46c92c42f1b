"""`groundwire doctor` and `groundwire demo` on the real machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli import groundwire


def test_the_doctor_tries_each_part_and_names_the_cure(tmp_path: Path) -> None:
    ran = groundwire("doctor", "--json")
    findings = {f["name"]: f for f in ran.data["findings"]}
    assert (ran.code, ran.data["healthy"]) == (0, True)
    assert findings["sandbox bubblewrap"]["ok"]
    assert findings["ledger"]["ok"]
    sick = groundwire("doctor", "--db", "sqlite:////proc/none/x.db")
    assert sick.code == 3
    assert "✗ ledger" in sick.out
    assert "→" in sick.out


@pytest.mark.slow
def test_the_demo_repairs_what_is_within_reach() -> None:
    ran = groundwire("demo", "--json")
    outcomes = {e["task_id"]: e for e in ran.data["episodes"]}
    assert ran.code == 0, outcomes
    assert len(outcomes) >= 5
    unsolved = [name for name, e in outcomes.items() if e["stop_reason"] != "verified"]
    assert unsolved == ["6_durations"]
    assert all(e["hidden"]["verdict"] == "pass" for name, e in outcomes.items() if name not in unsolved)
    assert ran.data["seconds"] < 150
