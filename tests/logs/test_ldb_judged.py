"""LDB's published logs, judged anew by hidden tests in the sandbox."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from published import published

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


def test_a_slice_of_ldb_s_logs_is_judged_as_the_logs_say(tmp_path: Path) -> None:
    """Four rows from all over each log. In full: bench/bench_ldb.py, figures in bench/RESULTS.md."""
    kept = tmp_path / "outcomes.jsonl"
    script = ROOT / "bench" / "bench_ldb.py"
    command = [sys.executable, script, "--data", published("ldb"), "--limit", "4", "--json", kept]
    subprocess.run(command, check=True, timeout=900, stdout=subprocess.DEVNULL)
    rows = [json.loads(line) for line in kept.read_text().splitlines()]
    assert len(rows) == 20
    for row in rows:
        last, best = row["last"], row["best"]
        assert last["solved"] is row["logged_solved"], row["task"]
        assert (last["accesses"], last["before_end"], last["unopened"]) == (1, 0, 0)
        assert (best["before_end"], best["unopened"]) == (0, 0)
        assert best["accesses"] == (best["reason"] in ("verified", "hidden_failed"))
        assert last["solved"] or not best["solved"]
