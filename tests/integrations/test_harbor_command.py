"""`groundwire run` and `export` on Harbor's form, from the command line to the verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli import groundwire
from harbor_tasks import HELLO_STEPS, TASKS, write_task


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_a_folder_of_tasks_is_run_and_each_refusal_is_its_own(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    write_task(tasks / "hello", TASKS["write-a-file"])
    write_task(tasks / "steps", HELLO_STEPS[1], config=HELLO_STEPS[0])
    write_task(tasks / "wants-an-image", TASKS["a-made-image"])
    program = tmp_path / "agent.sh"
    program.write_text("#!/bin/sh\necho hello > hello.txt\n")
    program.chmod(0o755)
    ran = groundwire(
        *("run", "code_repair", tasks, "--actor-command", program, "--trials", "1"),
        *("--sandbox", "bubblewrap", "--json"),
    )
    rows = {row["task_id"]: row for row in map(json.loads, ran.out.splitlines()) if row["type"] == "episode"}
    assert (rows["hello"]["verdict"], rows["hello"]["stop_reason"]) == ("pass", "verified"), ran.out + ran.err
    assert "2 steps" in json.dumps(rows["steps"])
    assert "run_steps" in json.dumps(rows["steps"])
    assert (rows["wants-an-image"]["verdict"], rows["wants-an-image"]["candidates"]) == ("none", 0)
    assert "RUN echo made" in rows["wants-an-image"]["detail"]

    run = json.loads(ran.out.splitlines()[0])["run_id"]
    exported = groundwire("export", run, "--format", "atif", "--out", tmp_path / "atif")
    assert exported.code == 0, exported.err
    found = [json.loads(file.read_text()) for file in (tmp_path / "atif").iterdir()]
    solved = next(one for one in found if one["extra"]["task"] == "hello")
    assert solved["extra"]["verdict"] == "pass"
    (step,) = [step for step in solved["steps"] if step["source"] == "agent"]
    assert step["tool_calls"][0]["arguments"]["changes"] == {"hello.txt": "hello\n"}
    assert {result["extra"]["seal"] for result in step["observation"]["results"]} == {"verified"}
