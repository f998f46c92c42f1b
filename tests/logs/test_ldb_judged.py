"""LDB's published logs, judged anew by hidden tests in the sandbox."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli import python
from published import published

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


def test_a_slice_of_ldb_s_logs_is_judged_as_the_logs_say(tmp_path: Path) -> None:
    """Two rows of each log. In full: bench/bench_ldb.py, figures in bench/RESULTS.md."""
    kept = tmp_path / "outcomes.jsonl"
    ran = python(ROOT / "bench" / "bench_ldb.py", "--data", published("ldb"), "--limit", "2", "--json", kept)
    assert ran.code == 0, ran.err
    rows = [json.loads(line) for line in kept.read_text().splitlines()]
    assert len(rows) == 10
    for row in rows:
        last, best = row["last"], row["best"]
        assert last["solved"] is row["logged_solved"], row["task"]
        assert (last["accesses"], last["before_end"], last["unopened"]) == (1, 0, 0)
        assert (best["before_end"], best["unopened"]) == (0, 0)
        assert best["accesses"] == (best["reason"] in ("verified", "hidden_failed"))
        assert last["solved"] or not best["solved"]
