"""`groundwire replay`: what is the same gives 0, what differs gives 1 and its first place, all else a clear error."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli import BUGGY, Ran, groundwire, lay_out

TEST = "python -m pytest -q"
ANSWER = "FILE: shop/price.py\n```python\ndef total(prices):\n    return sum(prices){}\n```\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The id of a run of a scripted model, and the folder of its ledger and key; project and script are gone by now."""
    folder = tmp_path_factory.mktemp("recorded")
    project, script = lay_out(folder / "project", BUGGY), folder / "script.jsonl"
    script.write_text(
        "".join(json.dumps(text) + "\n" for text in (ANSWER.format(" + 1"), "look", ANSWER.format(""), ""))
    )
    homes = {f"XDG_{name}_HOME": str(folder / name) for name in ("DATA", "STATE", "CONFIG", "CACHE")}
    ledger = ("--db", url(folder / "ledger.db"))
    ran = groundwire("repair", project, "--test", TEST, "--model", f"scripted:{script}", *ledger, "--json", env=homes)
    assert (ran.code, ran.data["verdict"]) == (0, "pass"), ran.out + ran.err
    shutil.rmtree(project)
    # the path of the script stays in the settings; a model that can't be asked is one whose answers are gone
    script.write_text('"never"\n')
    return ran.data["run_id"], folder


@pytest.fixture
def recorded(run: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_STATE_HOME", str(run[1] / "STATE"))
    return run[0]


@pytest.fixture
def database(run: tuple[str, Path], tmp_path: Path) -> Path:
    """A copy of the ledger, to be changed."""
    return Path(shutil.copy(run[1] / "ledger.db", tmp_path / "ledger.db"))


def url(file: Path) -> str:
    return f"sqlite:///{file}"


def change(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as database:
        assert database.execute(statement).rowcount > 0
        database.commit()


def replay(run: str, file: Path, *more: str) -> Ran:
    """With a PATH on which no sandbox and no program is found."""
    return groundwire("replay", run, "--verify", "--unverified", "--db", url(file), *more, env={"PATH": "/nonexistent"})


def test_a_repair_runs_again_without_its_project_its_model_and_a_sandbox(recorded: str, database: Path) -> None:
    ran = replay(recorded[:18], database)
    assert (ran.code, "records the same" in ran.out, "✓" in ran.out) == (0, True, True), ran.out + ran.err
    data = replay(recorded, database, "--json").data
    assert (data["same"], data["run_id"], data["episodes"][0]["difference"]) == (True, recorded, None)
    assert data["episodes"][0]["seals_verified"] is True


def test_a_difference_is_shown_where_it_begins_and_can_do_nothing_to_the_terminal(
    recorded: str, database: Path
) -> None:
    change(database, "UPDATE intents SET body = replace(body, 'total', char(27) || '[31mtotal')")
    ran = replay(recorded, database)
    assert (ran.code, "\x1b" in ran.out) == (1, False), ran.out + ran.err
    assert "recorded:" in ran.out and "replayed:" in ran.out and "Intent, body" in ran.out
    data = replay(recorded, database, "--json").data
    assert data["same"] is False
    assert data["episodes"][0]["difference"]["kind"] == "Intent"


def test_without_verify_a_difference_is_told_and_only_the_change_is_a_failure(recorded: str, database: Path) -> None:
    change(database, "UPDATE trial_ends SET verdict = 'none'")
    ran = groundwire("replay", recorded, "--unverified", "--db", url(database))
    assert (ran.code, "TrialEnd, verdict" in ran.out) == (1, True), ran.out + ran.err
    assert "NOT as it was written" in ran.err


CHANGED = {
    "a signal": ('UPDATE signals SET body = replace(body, \'"verdict":"fail"\', \'"verdict":"pass"\')', 1, "seal"),
    "no end": ("DELETE FROM episode_ends", 2, "has not ended"),
    "no files": ("DELETE FROM artifacts WHERE kind = 'tree'", 2, "began from are gone"),
    "another schema": ("UPDATE groundwire_schema SET version_num = '9999'", 6, "schema"),
    "a row that is none": ("UPDATE signals SET body = '{'", 6, "can't be read back"),
    "no bodies": ("DELETE FROM intents", 2, "no longer holds"),
    "no episode": ("DELETE FROM episodes", 2, "has no episode"),
}


@pytest.mark.parametrize("what", CHANGED)
def test_what_can_t_be_replayed_says_why(recorded: str, database: Path, what: str) -> None:
    statement, code, words = CHANGED[what]
    change(database, statement)
    ran = replay(recorded, database)
    assert (ran.code, words in ran.err, "Traceback" in ran.err) == (code, True, False), ran.out + ran.err


def test_a_run_that_is_not_there_is_named(database: Path) -> None:
    ran = replay("0123", database)
    assert (ran.code, "There is no run" in ran.err) == (2, True)


def test_a_run_of_another_graph_says_where_to_replay_it(recorded: str, database: Path) -> None:
    change(database, """UPDATE runs SET config = '{"nodes":{}}'""")
    ran = replay(recorded, database)
    assert (ran.code, "app.areplay" in ran.err) == (2, True), ran.err


def test_a_run_is_replayed_by_the_glob_rule_that_it_was_recorded_under(tmp_path: Path) -> None:
    """Before globs stayed in their folder, `shop/*.py` named `shop/deep/price.py`, and no record said so."""
    files = {path.replace("shop/", "shop/deep/"): text.replace("shop.", "shop.deep.") for path, text in BUGGY.items()}
    files |= {"shop/__init__.py": "", "task.toml": 'editable = ["shop/**/*.py"]\n[tests]\nfiles = ["tests"]\n'}
    project, script = lay_out(tmp_path / "project", files), tmp_path / "script.jsonl"
    answer = ANSWER.format("").replace("shop/", "shop/deep/")
    script.write_text("".join(json.dumps(text) + "\n" for text in (answer, "")))
    ledger = tmp_path / "ledger.db"
    ran = groundwire("repair", project, "--test", TEST, "--model", f"scripted:{script}", "--db", url(ledger), "--json")
    assert (ran.code, ran.data["verdict"]) == (0, "pass"), ran.out + ran.err
    change(ledger, """UPDATE episodes SET task = replace(task, 'shop/**/*.py', 'shop/*.py')""")
    refused = replay(ran.data["run_id"], ledger)
    assert refused.code == 1, "the rule of today lets nobody write it"
    change(ledger, """UPDATE episodes SET task = replace(task, '"stars_cross":false,', '')""")
    again = replay(ran.data["run_id"], ledger)
    # every record is the same; only the ledger is not as it was written, since this test has changed it
    assert (again.code, "records the same" in again.out) == (1, True), again.out + again.err


def test_show_marks_a_call_that_was_cut_off(recorded: str, database: Path) -> None:
    change(database, "UPDATE intents SET usd = 0.25 WHERE kind = 'model_call'")
    change(database, "DELETE FROM model_calls WHERE seq = (SELECT max(seq) FROM model_calls)")
    shown = groundwire("show", recorded, "--db", url(database)).out
    assert shown.count("cut off: it may have been paid for, so $0.2500 and") == 1


@pytest.mark.usefixtures("one_look")
def test_answers_and_verdicts_are_reused_only_where_that_is_asked_for(tmp_path: Path) -> None:
    database = tmp_path / "new.db"
    script = tmp_path / "script.jsonl"
    script.write_text("".join(json.dumps(text) + "\n" for text in (ANSWER.format(""), "")))
    project = lay_out(tmp_path / "project", BUGGY)

    def repair(*more: str) -> Ran:
        model = ("--model", f"scripted:{script}", "--db", url(database), "--json")
        return groundwire("repair", project, "--test", TEST, *model, *more)

    def counts(ran: Ran) -> tuple[int, int]:
        """Answers and verdicts that were taken from the ledger."""
        shown = groundwire("show", ran.data["run_id"], "--db", url(database), "--json").data
        records = [r for episode in shown["episodes"] for r in episode["records"]]
        return sum(bool(r.get("reused")) for r in records), sum(bool(r.get("taken_from")) for r in records)

    assert counts(repair()) == (0, 0)
    assert counts(repair("--reuse", "calls")) == (1, 0)
    ran = repair("--reuse", "all")
    calls, verdicts = counts(ran)
    assert (ran.code, calls) == (0, 1) and verdicts > 0
    assert "answer reused, from intent" in (shown := groundwire("show", ran.data["run_id"], "--db", url(database)).out)
    assert "nothing was run here: taken from" in shown
    assert replay(ran.data["run_id"], database).code == 0
    assert repair("--reuse", "sometimes").code == 2
