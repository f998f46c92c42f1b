"""`groundwire demo` on the real machine."""

from __future__ import annotations

import pytest
from cli import groundwire

pytestmark = pytest.mark.slow


def test_the_demo_repairs_what_is_within_reach() -> None:
    ran = groundwire("demo", "--json")
    outcomes = {e["task_id"]: e for e in ran.data["episodes"]}
    assert ran.code == 0, outcomes
    assert len(outcomes) >= 5
    unsolved = [name for name, e in outcomes.items() if e["stop_reason"] != "verified"]
    assert unsolved == ["6_durations"]
    assert all(e["hidden"]["verdict"] == "pass" for name, e in outcomes.items() if name not in unsolved)
