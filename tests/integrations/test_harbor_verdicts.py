"""The same tasks and solutions, judged here and by Harbor itself: one verdict."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from harbor_tasks import APART_TASKS, STEPPED_TASKS, TASKS, tool_context, write_task, write_tasks
from peer_environments import python_with
from services import IMAGE

from groundwire import Budget, Candidate, FeedbackApp, FeedbackGraph, Task, Tree, Verdict
from groundwire.core import ActorContext, TaskError
from groundwire.integrations.harbor import HarborTask, HarborVerifier, oracle_candidate, run_steps, write_harbor_task
from groundwire.integrations.harbor._environments import HarborEnvironments
from groundwire.integrations.harbor._ignoring import links_in, without_ignored

pytestmark = [pytest.mark.docker, pytest.mark.slow]
TRIALS = Path(__file__).parents[1] / "support" / "harbor_trials.py"
Wanted = tuple[Path, str, Mapping[str, Any]]
VISIBLE = "from hello import greet\n\ndef test_greet():\n    assert greet('Bo') == 'Hello Bo'\n"
OLD = "    return 'Hello ' + who"
DRAFTS = ("    return 'Hello' + name", "    return 'Hello ' + name")
TREE = Tree(
    {
        "add.py": b"def add(a, b):\n    return a - b\n",
        "test_add.py": b"from add import add\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    }
)
OWN = Task("Sum it", prompt="Mend add().", tree=TREE, command=("pytest", "-q"))
FIXED = Candidate(TREE.digest, {"add.py": b"def add(a, b):\n    return a + b\n"})


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


async def test_verifiers_apart_from_the_agent_say_what_harbor_says(tmp_path: Path) -> None:
    folders = [write_task(tmp_path / name, files, config=config) for name, (config, files) in APART_TASKS.items()]
    theirs = by_harbor([(folder, agent, {}) for folder in folders for agent in ("oracle", "nop")], tmp_path)
    assert len(theirs) == 2 * len(APART_TASKS)
    seen: list[tuple[str, str, str]] = []
    for row in theirs:
        harbor = HarborTask.from_folder(tmp_path / row["task"])
        task = harbor.task()
        candidate = Candidate(task.tree.digest, {})
        if row["agent"] == "oracle":
            candidate = await oracle_candidate(harbor)
        ours = await HarborVerifier(sandbox="docker").judge(candidate, task, tool_context())
        assert ours.evidence.detail == f"reward {row['rewards']['reward']:g}", (row, ours)
        seen.append((row["task"], row["agent"], ours.verdict.value))
    assert {verdict for _, agent, verdict in seen if agent == "oracle"} == {"pass"}
    assert {verdict for _, agent, verdict in seen if agent == "nop"} == {"fail"}


class Later:
    """Proposes one candidate, made when it is asked; or none."""

    def __init__(self, made: Callable[[], Awaitable[Candidate | None]]) -> None:
        self._made = made

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        made = await self._made()
        return [] if made is None else [made]


SELECTED = """
import json, pathlib, sys
from harbor.models.task.file_filter import TaskFileFilter
for task in map(pathlib.Path, sys.argv[1:]):
    places = [task / "tests", task / "solution", task / "steps/one/tests"]
    found = (place / path for place in places for path in TaskFileFilter(task).select(place).relative_paths)
    print(json.dumps(sorted(path.relative_to(task).as_posix() for path in found if path.is_file())))
"""
RULES = (
    "*.log\n!keep.log\n", "/data/\n", "data\n!data/keep.log\n", "**/deep\n", "data/**/a\n", "*\n!*/\n!test.sh\n",
    "\\#h\n# a\n", "c.txt \n", "c.txt\\ \n", "[ab]*\n", "/deep/*\n!/deep/a\n", "../solution\n", "ünï\r\n",
)  # fmt: skip


def test_harborignore_leaves_out_what_harbor_leaves_out(tmp_path: Path) -> None:
    names = ("a", "b.log", "keep.log", "#h", "c.txt", "c.txt ", "ünï", "test.sh")
    folders: list[Path] = []
    for number, rules in enumerate(RULES):
        files = {
            f"{place}/{folder}{name}": "x"
            for place in ("tests", "solution", "steps/one/tests", "environment")
            for folder in ("", "data/", "data/deep/", "deep/")
            for name in names
        }
        ruled = ("tests/.harborignore", "solution/data/.harborignore", "steps/one/tests/deep/.harborignore")
        other = {"solution/data/deep/.harborignore": RULES[number - 1], "steps/one/.harborignore": "*\n"}
        folders.append(write_task(tmp_path / str(number), {**files, **dict.fromkeys(ruled, rules), **other}))
        (folders[-1] / "tests" / "link").symlink_to("data/b.log")
    python = python_with("harbor>=0.26,<0.27", at_least=(3, 12))
    ran = subprocess.run([python, "-c", SELECTED, *folders], capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stderr[-2000:]
    for folder, rules, theirs in zip(folders, RULES, map(json.loads, ran.stdout.splitlines()), strict=True):
        whole = Tree.from_folder(folder)
        ours = without_ignored(whole, links_in(folder, whole))
        in_scope = (path for path in ours.files if path.startswith(("tests/", "solution/", "steps/one/tests/")))
        assert sorted(in_scope) == theirs, rules
        assert len(theirs) < len(whole.files), rules


async def test_steps_come_to_the_rewards_that_harbor_gives_them(tmp_path: Path) -> None:
    folders = [write_task(tmp_path / name, files, config=config) for name, (config, files) in STEPPED_TASKS.items()]
    theirs = by_harbor([(folder, agent, {}) for folder in folders for agent in ("oracle", "nop")], tmp_path)
    seen: dict[tuple[str, str], tuple[Verdict, int]] = {}
    for row in theirs:
        harbor = HarborTask.from_folder(tmp_path / row["task"])

        def app(task: Task, *, harbor: HarborTask = harbor, agent: str = row["agent"]) -> FeedbackApp:
            async def made() -> Candidate | None:
                step = harbor.at(task.id.rpartition("#")[2])
                return await oracle_candidate(step, project=task.tree) if agent == "oracle" else None

            verifier = HarborVerifier(oracle=True, task=task, sandbox="docker")
            return FeedbackGraph.loop(Later(made), verifier, baseline=True).compile(budget=Budget(trials=1))

        ours = await run_steps(harbor, app, sandbox="docker")
        assert ours.rewards == pytest.approx(row["rewards"]), (row, ours)
        seen[row["task"], row["agent"]] = (ours.verdict, len(ours.steps))
    assert seen == {
        ("half-of-two", "oracle"): (Verdict.FAIL, 2),
        ("half-of-two", "nop"): (Verdict.FAIL, 2),
        ("the-last-counts", "oracle"): (Verdict.PASS, 2),
        ("the-last-counts", "nop"): (Verdict.FAIL, 2),
        ("a-step-that-has-to-be", "oracle"): (Verdict.FAIL, 2),  # the second step gives no `more`, which is then a half
        ("a-step-that-has-to-be", "nop"): (Verdict.FAIL, 1),
    }


@pytest.mark.parametrize(
    ("script", "said"),
    [("echo x > /etc/motd\n", "changes /etc/motd"), ("echo why >&2\nexit 3\n", "exit status 3: why")],
)
async def test_a_setup_that_fails_or_changes_more_than_the_project_is_refused(
    tmp_path: Path, script: str, said: str
) -> None:
    config, files = STEPPED_TASKS["the-last-counts"]
    folder = write_task(tmp_path / "t", {**files, "steps/two/workdir/setup.sh": script}, config=config)
    step = HarborTask.from_folder(folder).at("two")
    with pytest.raises(TaskError, match=said):
        await HarborEnvironments("docker").begin(step, Tree())


async def test_the_loop_is_an_agent_of_harbors_and_leaves_its_trajectory(tmp_path: Path) -> None:
    files = {**TASKS["fix-a-function"], "environment/test_hello.py": VISIBLE}
    folder = write_task(tmp_path / "fix-it", files)
    drafts = [f"FILE: hello.py\n<<<<<<< SEARCH\n{OLD}\n=======\n{new}\n>>>>>>> REPLACE" for new in DRAFTS]
    script = tmp_path / "script.json"
    script.write_text("\n".join(map(json.dumps, [drafts[0], "The name is misspelt.", drafts[1]])))
    program = tmp_path / "agent.sh"
    program.write_text("#!/bin/sh\nsed -i 's/who$/name/' hello.py\n")
    program.chmod(0o755)
    ours = write_harbor_task(OWN, tmp_path / "ours", image=IMAGE, solution=FIXED)
    db = f"sqlite:///{tmp_path / 'ledger.db'}"
    agent = "groundwire.integrations.harbor:GroundwireAgent"
    looped, twin, oracle, nop = by_harbor(
        [
            (folder, agent, {"model_name": f"scripted:{script}", "db": db, "trials": 3}),
            (folder, agent, {"actor_command": str(program), "db": db}),
            (ours, "oracle", {}),
            (ours, "nop", {}),
        ],
        tmp_path,
    )
    assert (looped["error"], looped["rewards"]) == ("", {"reward": 1.0}), looped
    assert looped["told"]["groundwire"]["verdict"] == "pass"
    assert looped["told"]["groundwire"]["trials"] == 2
    seen = [step["source"] for step in looped["trajectory"]["steps"]]
    assert seen.count("agent") == 5  # two drafts and a reflection of the model's, and two candidates
    assert (twin["error"], twin["rewards"]) == ("", {"reward": 1.0}), twin
    assert (oracle["rewards"], nop["rewards"]) == ({"reward": 1.0}, {"reward": 0.0})
