"""Whether a run is finished, interrupted or still running, as every command that shows one says it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import pytest
from cli import groundwire
from guessing import Check, Guesser, loop

from groundwire import Task, Tree
from groundwire.cli._run_state import state_of
from groundwire.core._records import RunState
from groundwire.memory import SqlStore

HOLDS = """
import sys
from groundwire.core._seal import FileKeys
with FileKeys().held(sys.argv[1]), FileKeys().held(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""

LOOKS = """
import os, sys
from pathlib import Path
from groundwire.core._seal import FileKeys
keys = FileKeys(Path(sys.argv[1]))
if os.geteuid() == 0:
    os.setuid(65534)
print(keys.is_held("run"))
"""


def state(run: str, file: Path) -> set[str]:
    """As `show` says it of the run, as `show` says it in its list, and as `report` does."""
    db = ("--db", f"sqlite:///{file}", "--json")
    listed: Any
    (listed,) = groundwire("show", *db).data
    (reported,) = groundwire("report", run, "--unverified", *db).data["runs"]
    return {groundwire("show", run, *db).data["state"], listed["state"], reported["state"]}


def change(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as database:
        for statement in statements:
            assert database.execute(statement).rowcount > 0
        database.commit()


def test_a_repair_writes_its_end_once_and_one_that_was_cut_off_has_none(repaired: tuple[str, Path]) -> None:
    run, file = repaired
    assert state(run, file) == {"finished"}
    assert "finished" in groundwire("show", run, "--db", f"sqlite:///{file}").out
    assert groundwire("resume", run, "--db", f"sqlite:///{file}").code == 0
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT count(*) FROM run_ends").fetchone() == (1,)
    change(file, "DELETE FROM run_ends", "DELETE FROM episode_ends")
    assert state(run, file) == {"interrupted"}
    assert "interrupted" in groundwire("report", run, "--unverified", "--db", f"sqlite:///{file}").out


def test_a_run_of_an_older_version_is_finished_where_its_episodes_are(repaired: tuple[str, Path]) -> None:
    run, file = repaired
    change(file, "DELETE FROM run_ends")
    assert state(run, file) == {"finished"}
    with closing(sqlite3.connect(file)) as database:
        (config,) = database.execute("SELECT config FROM runs").fetchone()
        suite = {**json.loads(config), "suite": {"tasks": [["shop", "", ""], ["never begun", "", ""]]}}
        database.execute("UPDATE runs SET config = ?", (json.dumps(suite),))
        database.commit()
    assert state(run, file) == {"interrupted"}, "a task was never begun"


@pytest.mark.parametrize("ends", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_is_running_as_long_as_the_process_that_is_at_it(
    repaired: tuple[str, Path], ends: signal.Signals
) -> None:
    run, file = repaired
    change(file, "DELETE FROM run_ends", "DELETE FROM episode_ends")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", HOLDS, run], **pipes, text=True) as process:  # pyright: ignore
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        assert state(run, file) == {"running"}
        refused = groundwire("resume", run, "--db", f"sqlite:///{file}")
        assert (refused.code, "is still running" in refused.err) == (2, True)
        os.kill(process.pid, ends)
    assert state(run, file) == {"interrupted"}


async def test_a_run_is_running_while_one_of_its_episodes_is(tmp_path: Path) -> None:
    async with aclosing(SqlStore(f"sqlite:///{tmp_path}/ledger.db")) as store:
        app = loop(Guesser([["right"]]), Check()).compile(store=store)
        async with app.episode(Task(id="guess", tree=Tree({"answer.txt": b""}))):
            (run,) = await store.runs()
            assert await state_of(store, run) is RunState.RUNNING
        assert await state_of(store, run) is RunState.INTERRUPTED


def test_a_run_whose_mark_can_not_be_looked_at_is_not_running() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        key = Path(folder, "run")
        key.touch(mode=0)
        looked = subprocess.run([sys.executable, "-c", LOOKS, folder], capture_output=True, text=True, check=True)
    assert looked.stdout == "False\n"
