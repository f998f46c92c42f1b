"""Rows in the form of SWE-bench and its kin as tasks of `groundwire run`, and `groundwire task check` of them."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path

import pytest
from cli import groundwire, lay_out
from services import IMAGE
from swe_rows import FIX, instance, r2e, repository, smith, written

from groundwire.benchmarks import Item
from groundwire.cli._suite import Suite, TaskSource
from groundwire.core._records import Intent
from groundwire.core._settings import Settings
from groundwire.core._tasks import Task
from groundwire.memory import SqlStore


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return repository(tmp_path / "repos")


def test_rows_are_checked_with_their_own_solutions_and_what_can_t_be_had_is_told(clone: Path) -> None:
    rows = written(clone, smith(clone), instance(clone, repo="acme/books"))
    ran = groundwire("task", "check", rows, "--repos", clone.parent)
    assert ran.code == 1, ran.err
    assert "✓ without a solution: fails" in ran.out
    assert "✓ with the solution: passes" in ran.out
    assert "✗ There is no clone of acme/books" in ran.out
    (told,) = map(
        json.loads,
        groundwire("task", "check", written(clone, r2e(clone)), "--repos", clone.parent, "--json").out.splitlines(),
    )
    assert (told["ok"], told["image"]) == (True, "acme/pages_final:1")


def test_rows_are_run_like_other_tasks(clone: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    wrong, right = (f"FILE: pages/split.py\n```python\n{code}```\n" for code in ("x = 1\n", FIX))
    script.write_text("\n".join(map(json.dumps, (wrong, "It has to define pages().", right))))
    rows = written(clone, instance(clone))
    asked = ("--repos", clone.parent, "--model", f"scripted:{script}", "--db", f"sqlite:///{tmp_path}/l.db")
    ran = groundwire("run", "code_repair", rows, *asked, "--trials", "2", "--json")
    told = [json.loads(line) for line in ran.out.splitlines()]
    (episode,) = [one for one in told if one["type"] == "episode"]
    assert (ran.code, episode["task_id"], episode["stop_reason"]) == (0, "acme__pages-1", "verified"), ran.err
    assert groundwire("resume", told[0]["run_id"], "--db", f"sqlite:///{tmp_path}/l.db").code == 0
    asked_of_models = "".join(asyncio.run(model_calls(tmp_path / "l.db")))
    assert "test_even" in asked_of_models
    assert "test_rest" not in asked_of_models, "a hidden test is in no prompt"


async def model_calls(file: Path) -> list[str]:
    async with aclosing(SqlStore(f"sqlite:///{file}")) as store:
        (run,) = await store.runs()
        records = [record for episode in await store.episodes(run.id) for record in await store.records(episode.id)]
        return [record.body for record in records if isinstance(record, Intent) and record.kind == "model_call"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["run", "code_repair", "rows.jsonl"], "no clones were named"),
        (["run", "code_repair", "folder", "--repos", "repos"], "--repos says nothing without a file of rows"),
        (["run", "code_repair", "rows.jsonl", "folder", "--repos", "repos"], "are not run together"),
        (["task", "check", "rows.jsonl"], "need clones of their repositories"),
        (["task", "check", "rows.jsonl", "--repos", "repos", "--test", "pytest"], "Rows bring their tests"),
        (["task", "check", "folder", "--repos", "repos"], "--repos is for a file of rows"),
    ],
)
def test_what_does_not_go_together_is_refused(asked: list[str], message: str, tmp_path: Path) -> None:
    lay_out(tmp_path, {"rows.jsonl": "", "folder/a.py": "", "repos/x": ""})
    named = [str(tmp_path / one) if one in ("rows.jsonl", "folder", "repos") else one for one in asked]
    ran = groundwire(*named)
    assert (ran.code, message in ran.err) == (2, True), ran.err


def test_a_task_is_judged_in_its_own_image_where_docker_judges_and_nobody_named_one() -> None:
    items = [Item(Task(id=name), image=image) for name, image in (("a", "x:1"), ("b", ""), ("c", "x:1"))]

    def images(**settings: str) -> dict[str, list[str]]:
        suite = Suite("code_repair", TaskSource("bench", ()), Settings.model_validate(settings))
        return {image: [item.task.id for item in found] for image, found in suite.by_image(items).items()}

    assert images(sandbox="docker") == {"x:1": ["a", "c"], "": ["b"]}
    assert images() == images(sandbox="docker", image="mine:1") == {"": ["a", "b", "c"]}


@pytest.mark.docker
def test_a_row_is_judged_in_the_image_that_it_names(clone: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text(json.dumps(f"FILE: pages/split.py\n```python\n{FIX}```\n"))
    rows = written(clone, instance(clone, docker_image=IMAGE))
    asked = ("--repos", clone.parent, "--sandbox", "docker", "--db", f"sqlite:///{tmp_path}/l.db", "--json")
    ran = groundwire("run", "code_repair", rows, "--model", f"scripted:{script}", *asked)
    assert ran.code == 0, ran.out + ran.err
