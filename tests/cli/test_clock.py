"""`groundwire repair` against the clock, and what its screen says of that."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from cli import BUGGY, PROGRAM, groundwire, lay_out

TEST = "python -m pytest -q"
HANGS = {
    "mod.py": "def count(n):\n    total = 0\n    while n > 0:\n        total += n\n    return total\n",
    "test_mod.py": "from mod import count\n\n\ndef test_none():\n    assert count(0) == 0\n\n\n"
    "def test_one():\n    assert count(1) == 1\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "project", BUGGY)


@pytest.mark.usefixtures("one_look")
def test_a_repair_whose_time_is_up_is_gone_on_with(project: Path, tmp_path: Path) -> None:
    db = ("--db", f"sqlite:///{tmp_path}/x.db")
    ended = groundwire("repair", project, "--test", TEST, "--max-seconds", "0.5", "--json", *db)
    assert (ended.code, ended.data["stop_reason"]) == (4, "budget_seconds"), ended.err
    run = ended.data["run_id"]
    assert groundwire("resume", run, "--json", *db).data["stop_reason"] == "budget_seconds", "nobody gave it time"
    went_on = groundwire("resume", run, "--max-seconds", "300", "--json", *db)
    assert (went_on.code, went_on.data["stop_reason"], went_on.data["run_id"]) == (0, "verified", run), went_on.err
    assert went_on.data["judged"] <= went_on.data["candidates"]
    listed = groundwire("show", *db).out
    assert "verified" in listed and "project" in listed.splitlines()[1]
    (line,) = json.loads(groundwire("show", "--json", *db).out)
    assert (line["project"], line["verdict"]) == ("project", "verified")
    assert groundwire("replay", run, "--verify", *db).code == 0


ENDED_VERIFIED = (
    "INSERT INTO episode_ends (seq, episode_id, verdict, stop_reason, best_candidate, detail, created_at)"
    " SELECT (SELECT max(seq) + 1 FROM links), episode_id, 'pass', 'verified', best_candidate, '', created_at"
    " FROM episode_ends LIMIT 1"
)
FORGED = {
    "an end that says verified behind the sealed one": (False, ENDED_VERIFIED),
    "the sealed end made another": (False, "UPDATE episode_ends SET verdict = 'pass', stop_reason = 'verified'"),
    "the first end taken away": (True, "DELETE FROM episode_ends WHERE stop_reason = 'budget_seconds'"),
    "the second end put before the first": (True, "UPDATE episode_ends SET seq = seq - 100000 WHERE verdict = 'pass'"),
    "the end that followed taken away": (True, "DELETE FROM episode_ends WHERE stop_reason = 'verified'"),
    "the first end of the run taken away": (True, "DELETE FROM run_ends WHERE seq = (SELECT min(seq) FROM run_ends)"),
}


@pytest.mark.usefixtures("one_look")
def test_a_run_that_went_on_after_its_sealed_end_verifies_and_a_forged_one_does_not(
    project: Path, tmp_path: Path
) -> None:
    """What comes after an end is sealed as what came before it, and the last end is the one that counts."""
    file = tmp_path / "x.db"
    db = ("--db", f"sqlite:///{file}")
    ended = groundwire("repair", project, "--test", TEST, "--max-seconds", "0.5", "--json", *db)
    assert ended.data["stop_reason"] == "budget_seconds", ended.err
    run = ended.data["run_id"]
    assert groundwire("verify", run, *db).code == 0
    before = _copied(file, tmp_path / "before.db")
    went_on = groundwire("resume", run, "--max-seconds", "300", "--json", *db)
    assert went_on.data["stop_reason"] == "verified", went_on.err
    honest = groundwire("verify", run, "--json", *db)
    assert honest.code == 0, honest.out
    assert groundwire("verify", run, "--statement", tmp_path / "said.json", *db).code == 0
    older = groundwire("verify", run, "--db", f"sqlite:///{before}")
    assert older.code == 1 and "older copy" in older.out, older.out
    for what, (later, statement) in FORGED.items():
        forged = _copied(file if later else before, tmp_path / "forged.db")
        with closing(sqlite3.connect(forged)) as connection, connection:
            assert connection.execute(statement).rowcount > 0, what
        ran = groundwire("verify", forged, env={"XDG_STATE_HOME": str(tmp_path / "nothing")})
        assert ran.code == 1, (what, ran.out)


def _copied(file: Path, to: Path) -> Path:
    """The database, with what its journal holds."""
    to.unlink(missing_ok=True)
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)
    return to


def test_a_case_that_hangs_is_named_and_may_take_as_long_as_one_says(tmp_path: Path) -> None:
    project = lay_out(tmp_path / "hangs", HANGS)
    ran = groundwire("repair", project, "--test", TEST, "--case-seconds", "1", "--json", "--max-seconds", "300")
    assert ran.data["stop_reason"] == "verified", ran.out + ran.err
    shown = groundwire("show", ran.data["run_id"], "--json").data["episodes"][0]["records"]
    looks = [r for r in shown if r["kind"] == "Signal" and r["trial"] == 0]
    assert looks[0]["evidence"]["late"] == ["test_mod.py::test_one"]
    assert "out of time: test_mod.py::test_one" in looks[0]["evidence"]["detail"]
    assert len(looks) == 1, "what hung is not looked at again"


@pytest.mark.usefixtures("one_look")
def test_the_screen_says_what_isolates_nothing_and_who_was_not_asked(project: Path) -> None:
    lay_out(
        project,
        {"secret/test_more.py": "from shop.price import total\n\n\ndef test_it():\n    assert total([3]) == 3\n"},
    )
    hidden = ("--hidden", f"{TEST} secret", "--sandbox", "subprocess")
    said = ("--test", TEST, *hidden, "--max-trials", "1", "--width", "1", "--test-strength", "off")
    ran = groundwire("repair", project, *said)
    assert "sandbox: subprocess isolates nothing" in ran.out
    if ran.code != 0:
        assert "the hidden tests were not asked" in ran.out
    data = groundwire("repair", project, *said, "--json").data
    assert data["account"]["isolated"] is False
    assert data["hidden_asked"] is (data["hidden"] is not None)
    assert json.dumps(data["judged"]).isdigit()


@pytest.mark.usefixtures("one_look")
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_screen_that_goes_away_or_lacks_letters_costs_nothing(project: Path, tmp_path: Path, encoding: str) -> None:
    command = [PROGRAM, "repair", project, "--test", TEST, "--db", f"sqlite:///{tmp_path}/x.db", "--apply"]
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None and process.stderr is not None
        if encoding == "utf-8":
            process.stdout.close()
        else:
            assert b"verified patch" in process.stdout.read()
        err = process.stderr.read().decode()
        assert (process.wait(), err) == (0, "")
    assert "result += price" in (project / "shop" / "price.py").read_text()
