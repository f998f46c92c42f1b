"""Harbor's folders as tasks, without Docker: what is read, what is refused, and what bubblewrap judges."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from harbor_tasks import TASKS, shell, tool_context, write_task

from groundwire import Candidate, CaseResult, NoVerdict, Observation, Origin, Task, Verdict
from groundwire.core import TaskError, Tree
from groundwire.core._sandboxes import ExecResult
from groundwire.integrations.harbor import HarborTask, HarborVerifier, write_harbor_task
from groundwire.integrations.harbor._dockerfile import read_dockerfile
from groundwire.integrations.harbor._rewards import ruling_on

HELLO = TASKS["write-a-file"]
CTRF = {"results": {"tests": [{"name": "a", "status": "passed"}, {"name": "b", "status": "failed"}]}}


async def judged(task: Task, changes: Mapping[str, bytes | None], *, oracle: bool = False) -> Observation:
    tool = HarborVerifier(sandbox="bubblewrap", oracle=oracle, task=task)
    return await tool.judge(Candidate(task.tree.digest, changes), task, tool_context())


async def test_bubblewrap_judges_what_needs_no_image(tmp_path: Path) -> None:
    task = HarborTask.from_folder(write_task(tmp_path / "hello", HELLO)).task()
    nothing = await judged(task, {})
    right = await judged(task, {"hello.txt": b"hello\n"})
    assert (nothing.verdict, nothing.evidence.detail) == (Verdict.FAIL, "reward 0")
    assert (right.verdict, right.origin, right.oracle) == (Verdict.PASS, Origin.HIDDEN_TESTS, False)
    assert right.sandbox is not None
    assert right.sandbox.kind == "bubblewrap"


async def test_a_verifier_that_steers_says_so_and_quotes_no_test(tmp_path: Path) -> None:
    task = HarborTask.from_folder(write_task(tmp_path / "report", TASKS["with-a-report"])).task()
    seen = await judged(task, {}, oracle=True)
    assert (seen.verdict, seen.origin, seen.oracle) == (Verdict.FAIL, Origin.VERIFIER, True)
    assert [case.id for case in seen.evidence.failed()] == ["reward::reward", "double_5"]
    assert not seen.evidence.stdout
    assert {case.id: case.message for case in seen.evidence.cases if case.message} == {"reward::reward": "0.0 of 1"}


async def test_what_harborignore_leaves_out_is_laid_nowhere(tmp_path: Path) -> None:
    only_as_told = shell("[ ! -e /tests/.harborignore ] && [ ! -e /tests/data/a.csv ] && [ -e /tests/data/keep.csv ]")
    files = {
        **HELLO,
        "tests/test.sh": only_as_told,
        "tests/.harborignore": "*.csv\n/linked\n",
        "tests/data/.harborignore": "!keep.csv\n",
        "tests/data/a.csv": "1\n",
        "tests/data/keep.csv": "2\n",
        "solution/.harborignore": "*.log\n",
        "solution/solve.log": "…\n",
        "environment/.harborignore": "*\n",
        "environment/kept.txt": "it counts in tests/ and solution/ alone\n",
    }
    folder = write_task(tmp_path / "t", files)
    (folder / "tests" / "linked").symlink_to("data/keep.csv")
    (folder / "tests" / "other").symlink_to("data/a.csv")
    harbor = HarborTask.from_folder(folder)
    assert harbor.verification.tests.files.keys() == {"test.sh", "data/keep.csv"}
    assert harbor.solution.files.keys() == {"solution/solve.sh"}
    assert "kept.txt" in harbor.project.files
    task = harbor.task()
    assert HarborTask.of(task).verification.tests == harbor.verification.tests, "as a ledger has it"
    assert (await judged(task, {})).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("*.sh\n", "tests/test.sh judges, and a .harborignore leaves it out"),
        ("[z-a]\n", "tests/.harborignore can't be read: bad character range"),
    ],
)
def test_a_harborignore_that_leaves_out_the_judge_or_cannot_be_read_is_refused(
    tmp_path: Path, rules: str, said: str
) -> None:
    with pytest.raises(TaskError, match=said):
        HarborTask.from_folder(write_task(tmp_path / "t", {**HELLO, "tests/.harborignore": rules}))


async def test_the_time_of_task_toml_is_kept(tmp_path: Path) -> None:
    files = {**HELLO, "tests/test.sh": "#!/bin/sh\nsleep 60\n"}
    folder = write_task(tmp_path / "slow", files, config="[verifier]\ntimeout_sec = 0.7\n[agent]\ntimeout_sec = 5\n")
    harbor = HarborTask.from_folder(folder)
    seen = await judged(harbor.task(), {})
    assert (seen.verdict, seen.reason) == (Verdict.NONE, NoVerdict.LIMIT_HIT)
    assert harbor.config.agent.timeout_sec == 5


def test_what_is_seen_and_what_is_hidden(tmp_path: Path) -> None:
    harbor = HarborTask.from_folder(write_task(tmp_path / "fix", TASKS["fix-a-function"]))
    task = harbor.task()
    assert task.tree.files.keys() == {"hello.py"}
    assert task.public().hidden is None
    assert "/app" in task.prompt
    assert task.hidden is not None
    assert not any(path.startswith("solution") for path in task.hidden.tree.files)
    assert HarborTask.of(task).recipe == harbor.recipe


@pytest.mark.parametrize(
    ("copied", "said"),
    [
        ("COPY ../../secret .", "outside"),
        ("COPY a/../../secret .", "outside"),
        ("ADD --chown=1 ../x /x", "outside"),
        ("COPY nothing.txt .", "finds nothing"),
        ('COPY "open .', "can't be read"),
    ],
)
def test_a_copy_from_elsewhere_is_refused(tmp_path: Path, copied: str, said: str) -> None:
    folder = write_task(tmp_path / "task", {**HELLO, "environment/Dockerfile": f"FROM x\nWORKDIR /app\n{copied}\n"})
    (tmp_path / "secret").write_text("s")
    with pytest.raises(TaskError, match=said):
        HarborTask.from_folder(folder)


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    folder = write_task(tmp_path / "task", HELLO)
    (folder / "environment" / "inner").symlink_to(tmp_path / "secret")
    with pytest.raises(TaskError, match="outside"):
        HarborTask.from_folder(folder)


@pytest.mark.parametrize(
    ("config", "files", "why"),
    [
        ("", {"environment/docker-compose.yaml": "services: {}\n"}, "several containers"),
        ('[environment]\nos = "windows"\n', {}, "windows"),
        ("[environment]\ngpus = 1\n", {}, "GPU"),
        ('[verifier.env]\nKEY = "${OPENAI_API_KEY}"\n', {}, "OPENAI_API_KEY"),
    ],
)
def test_what_can_not_be_judged_here_is_said(tmp_path: Path, config: str, files: Mapping[str, str], why: str) -> None:
    assert why in HarborTask.from_folder(write_task(tmp_path / "t", {**HELLO, **files}, config=config)).why_not()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[verifier]\ntimeout_sec = nan\n", "timeout_sec"),
        ("[verifier]\ntimeout_sec = -1\n", "timeout_sec"),
        ("[verifier\n", "no TOML"),
        ('[task]\nname = "../../etc"\n', "task.name"),
    ],
)
def test_a_malformed_configuration_is_said(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(TaskError, match=said):
        HarborTask.from_folder(write_task(tmp_path / "t", HELLO, config=text))


@pytest.mark.parametrize(
    ("files", "status", "stdout", "verdict", "reason"),
    [
        ({"reward.txt": b"1\n"}, 0, b"", Verdict.PASS, None),
        ({"reward.txt": b" 1.0 "}, 0, b"", Verdict.PASS, None),
        ({"reward.txt": b"0.5"}, 0, b"", Verdict.FAIL, None),
        ({"reward.json": b'{"reward": 1, "style": 0.2}'}, 0, b"", Verdict.PASS, None),
        ({"reward.json": b'{"tests": 1, "style": 0.2}'}, 0, b"", Verdict.FAIL, None),
        ({"reward.json": b'{"reward": 0}', "reward.txt": b"1"}, 0, b"", Verdict.FAIL, None),
        ({"reward.txt": b"1", "ctrf.json": json.dumps(CTRF).encode()}, 0, b"", Verdict.NONE, NoVerdict.COUNT_MISMATCH),
        ({"reward.txt": b"1"}, 0, b"== 1 failed, 2 passed in 0.1s ==\n", Verdict.NONE, NoVerdict.COUNT_MISMATCH),
        ({"reward.txt": b"1"}, 0, b"== 2 passed in 0.1s ==\n", Verdict.PASS, None),
        ({"reward.txt": b"1"}, 1, b"", Verdict.NONE, NoVerdict.COUNT_MISMATCH),
        ({"reward.txt": b""}, 0, b"", Verdict.NONE, NoVerdict.REPORT_MALFORMED),
        ({"reward.txt": b"nan"}, 0, b"", Verdict.NONE, NoVerdict.REPORT_MALFORMED),
        ({"reward.json": b'{"reward": "1"}'}, 0, b"", Verdict.NONE, NoVerdict.REPORT_MALFORMED),
        ({"reward.json": b'{"reward": 1e999}'}, 0, b"", Verdict.NONE, NoVerdict.REPORT_MALFORMED),
        ({"reward.json": b"[" * 100_000}, 0, b"", Verdict.NONE, NoVerdict.REPORT_MALFORMED),
        ({"reward.json": b"1"}, 0, b"", Verdict.NONE, NoVerdict.REPORT_MALFORMED),
        ({}, 127, b"", Verdict.NONE, NoVerdict.RUNNER_MISSING),
        ({}, 1, b"", Verdict.NONE, NoVerdict.REPORT_MISSING),
    ],
)
def test_rewards(
    files: Mapping[str, bytes], status: int, stdout: bytes, verdict: Verdict, reason: NoVerdict | None
) -> None:
    ruling = ruling_on(ExecResult(status, stdout=stdout, files=files))
    assert (ruling.verdict, ruling.reason) == (verdict, reason)


def test_a_reward_is_not_a_fail_where_the_script_lacked_its_network() -> None:
    end = ExecResult(0, files={"reward.txt": b"0"})
    assert ruling_on(end, fetches="curl -LsSf …").reason is NoVerdict.SANDBOX
    assert ruling_on(ExecResult(0, files={"reward.txt": b"1"}), fetches="uvx").verdict is Verdict.PASS


def test_scripts_that_ask_for_the_network_are_known(tmp_path: Path) -> None:
    for line in ("curl -LsSf https://x/install.sh | sh", "apt-get update", "pip install pytest", "uvx -p 3.13 pytest"):
        script = f"#!/bin/bash\n# curl\n{line}\n"
        assert HarborTask.from_folder(write_task(tmp_path / line[:4], {**HELLO, "tests/test.sh": script})).fetches
    assert not HarborTask.from_folder(write_task(tmp_path / "none", {**HELLO, "tests/test.sh": shell("true")})).fetches


def test_what_a_dockerfile_says() -> None:
    context = {"src/a.py": b"", "src/sub/b.py": b"", "data.csv": b"", "skip.log": b"", ".dockerignore": b"*.log\n"}
    recipe = read_dockerfile(
        """# syntax=docker/dockerfile:1
ARG VERSION=3.12
FROM python:${VERSION}-slim AS base
ENV HOME=/root PLACE=/srv
FROM base
WORKDIR /srv
WORKDIR app
COPY src/ ./lib/
COPY --chown=1:1 ["data.csv", "/srv/app/"]
COPY *.csv *.log /srv/app/more/
RUN pip install \\
    # why
    numpy
RUN <<EOF
COPY ../x .
EOF
""",
        context,
    )
    assert recipe.bases == ("python:3.12-slim",)
    assert recipe.workdir == "/srv/app"
    assert recipe.files == {
        "/srv/app/lib/a.py": "src/a.py",
        "/srv/app/lib/sub/b.py": "src/sub/b.py",
        "/srv/app/data.csv": "data.csv",
        "/srv/app/more/data.csv": "data.csv",
    }
    assert any(need.startswith("RUN pip install") for need in recipe.needs)


def test_a_task_of_ours_becomes_one_of_harbors(tmp_path: Path) -> None:
    tree = Tree({"add.py": b"def add(a, b):\n    return a - b\n", "test_add.py": b"from add import add\n"})
    task = Task("Sum: 1/2", prompt="Mend add().", tree=tree, command=("pytest", "-q"))
    fixed = Candidate(tree.digest, {"add.py": b"def add(a, b):\n    return a + b\n"})
    folder = write_harbor_task(task, tmp_path, solution=fixed)
    harbor = HarborTask.from_folder(folder)
    assert harbor.name == "groundwire/sum-1-2"
    assert harbor.project.files["add.py"] == tree.files["add.py"]
    assert not harbor.why_not()
    assert "solution/files/add.py" in harbor.solution.files
    assert (folder / "tests" / "test.sh").stat().st_mode & 0o100


def test_cases_of_a_report_are_kept() -> None:
    end = ExecResult(0, files={"reward.txt": b"0", "ctrf.json": json.dumps(CTRF).encode()})
    ruling = ruling_on(end)
    assert [(case.id, case.result) for case in ruling.cases] == [
        ("reward::reward", CaseResult.FAILED),
        ("a", CaseResult.PASSED),
        ("b", CaseResult.FAILED),
    ]
