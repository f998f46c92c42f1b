"""`groundwire show` tells what the ledger holds, and notices an edited row."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from cli import groundwire


def test_a_run_is_shown_and_its_seals_hold(repaired: tuple[str, Path]) -> None:
    run_id, database = repaired
    url = f"sqlite:///{database}"
    ran = groundwire("show", run_id[:20], "--db", url)
    assert ran.code == 0
    assert "admitted by refine" in ran.out
    assert "verified: as they were sealed" in ran.out
    listed = groundwire("show", "--db", url)
    assert run_id in listed.out
    data = groundwire("show", run_id, "--db", url, "--json").data
    kinds = {r["kind"] for r in data["episodes"][0]["records"]}
    assert {"Signal", "Admission", "CandidateRecord", "TrialRecord", "EpisodeEnd"} <= kinds
    assert data["non_discriminating"] == []
    assert (data["grounded"], data["oracle"], data["trust"]) == (True, False, [])
    account = data["episodes"][0]["account"]
    assert (account["rejudged"], account["flaky"], account["steering"]) == (2, [], 0)
    assert "grounded   no answer key was used" in ran.out
    assert "2 verdicts judged again (" in ran.out


def test_an_edited_row_is_noticed(repaired: tuple[str, Path]) -> None:
    run_id, database = repaired
    with sqlite3.connect(database) as connection:
        changed = connection.execute(
            'UPDATE signals SET body = replace(body, \'"verdict":"fail"\', \'"verdict":"pass"\') WHERE trial = 0'
        ).rowcount
    connection.close()
    assert changed == 2, "the baseline was looked at twice"
    ran = groundwire("show", run_id, "--db", f"sqlite:///{database}")
    assert ran.code == 1
    assert "NOT as it was written" in ran.out


def test_without_runs_the_next_step_is_named(tmp_path: Path) -> None:
    ran = groundwire("show", "--db", f"sqlite:///{tmp_path}/empty.db")
    assert (ran.code, "groundwire demo" in ran.out) == (0, True)
