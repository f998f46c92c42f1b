"""The same tasks and solutions, judged here and by Harbor itself: one verdict."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from harbor_tasks import TASKS, tool_context, write_tasks
from peer_environments import python_with

from groundwire import Candidate, Verdict
from groundwire.integrations.harbor import HarborTask, HarborVerifier, oracle_candidate

pytestmark = [pytest.mark.docker, pytest.mark.slow]
TRIALS = Path(__file__).parents[1] / "support" / "harbor_trials.py"
Wanted = tuple[Path, str, Mapping[str, Any]]


def by_harbor(wanted: Sequence[Wanted], folder: Path) -> list[dict[str, Any]]:
    """Harbor's own trials: of each a row with its rewards."""
    asked = folder / "wanted.json"
    asked.write_text(json.dumps([[str(task), agent, options] for task, agent, options in wanted]))
    python = python_with("harbor>=0.26,<0.27", at_least=(3, 12))
    ran = subprocess.run([python, TRIALS, asked], capture_output=True, text=True, timeout=500)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]


async def test_ten_tasks_get_the_verdicts_that_harbor_gives_them(tmp_path: Path) -> None:
    folders = write_tasks(tmp_path / "tasks")
    theirs = by_harbor([(folder, agent, {}) for folder in folders for agent in ("oracle", "nop")], tmp_path)
    ours: dict[tuple[str, str], tuple[Verdict, str]] = {}
    for folder in folders:
        harbor = HarborTask.from_folder(folder)
        task = harbor.task()
        solutions = {"oracle": await oracle_candidate(harbor), "nop": Candidate(task.tree.digest, {})}
        for agent, candidate in solutions.items():
            seen = await HarborVerifier(sandbox="docker").judge(candidate, task, tool_context())
            ours[folder.name, agent] = (seen.verdict, seen.evidence.detail)
    assert len(theirs) == 2 * len(TASKS)
    for row in theirs:
        said, detail = ours[row["task"], row["agent"]]
        assert not row["error"], row
        assert said is (Verdict.PASS if row["rewards"]["reward"] >= 1 else Verdict.FAIL), row
        assert f"reward {row['rewards']['reward']:g}" in detail, (row, detail)
    assert {said for (_, agent), (said, _) in ours.items() if agent == "oracle"} == {Verdict.PASS}
    assert {said for (_, agent), (said, _) in ours.items() if agent == "nop"} == {Verdict.FAIL}
