"""Tasks of several steps and verifiers apart, without Docker: what is read, refused, and judged in bubblewrap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from harbor_tasks import APART_TASKS, HELLO_STEPS, STEPPED_TASKS, TASKS, tool_context, write_task

from groundwire import Budget, Candidate, FeedbackApp, FeedbackGraph, Task, Verdict
from groundwire.core import ActorContext, Evidence, TaskError, Tree
from groundwire.core._sandboxes import ExecResult
from groundwire.graphs import code_repair
from groundwire.integrations.harbor import HarborChange, HarborTask, HarborVerifier, run_steps
from groundwire.integrations.harbor._environments import project_laid, verifiers_script
from groundwire.integrations.harbor._rewards import rewards_in, ruling_on
from groundwire.integrations.harbor._steps import combined

HELLO = TASKS["write-a-file"]


class Writes:
    """Proposes what is written for each step, by its name."""

    def __init__(self, drafts: Mapping[str, Mapping[str, bytes | None]]) -> None:
        self._drafts = drafts
        self.shown: dict[str, set[str]] = {}

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        step = context.task.id.rpartition("#")[2]
        self.shown[step] = set(context.task.tree.files)
        return [Candidate(context.task.tree.digest, self._drafts[step])] if step in self._drafts else []


def app_of(actor: Writes, task: Task) -> FeedbackApp:
    verifier = HarborVerifier(oracle=True, task=task, sandbox="bubblewrap")
    return FeedbackGraph.loop(actor, verifier).compile(budget=Budget(trials=1))


async def test_each_step_begins_with_what_the_one_before_left(tmp_path: Path) -> None:
    config, files = HELLO_STEPS
    harbor = HarborTask.from_folder(write_task(tmp_path / "t", files, config=config))
    actor = Writes({"one": {"a.txt": b"1\n"}, "two": {"b.txt": b"2\n", "brought.txt": None}})
    result = await run_steps(harbor, lambda task: app_of(actor, task), sandbox="bubblewrap")
    assert (result.verdict, result.rewards) == (Verdict.PASS, {"reward": 1.0}), result
    assert actor.shown == {"one": {"old.txt"}, "two": {"old.txt", "a.txt", "brought.txt"}}
    assert [step.episode.task_id for step in result.steps] == ["t#one", "t#two"]


async def test_a_step_below_its_least_reward_is_the_last(tmp_path: Path) -> None:
    config, files = HELLO_STEPS
    harbor = HarborTask.from_folder(write_task(tmp_path / "t", files, config=config))
    actor = Writes({"one": {"wrong.txt": b"1\n"}, "two": {"b.txt": b"2\n"}})
    result = await run_steps(harbor, lambda task: app_of(actor, task), sandbox="bubblewrap")
    assert (result.verdict, result.rewards, len(result.steps)) == (Verdict.FAIL, {"reward": 0.0}, 1)
    assert "1 is the least that lets go on" in result.detail


async def test_a_verifier_that_is_hidden_gives_its_rewards_too_and_a_failed_step_is_gone_on_from(
    tmp_path: Path,
) -> None:
    config, files = STEPPED_TASKS["half-of-two"]
    harbor = HarborTask.from_folder(write_task(tmp_path / "t", files, config=config))
    actor = Writes({"one": {"b.txt": b"1\n"}, "two": {"a.txt": b"2\n"}})

    def app(task: Task) -> FeedbackApp:
        verifier = HarborVerifier(sandbox="bubblewrap")
        graph = code_repair(actor, None, HarborChange(verifier, task), verifier)
        return graph.compile(budget=Budget(trials=1))

    result = await run_steps(harbor, app, sandbox="bubblewrap")
    assert [step.rewards for step in result.steps] == [{"reward": 0.0}, {"reward": 1.0}], result
    assert (result.verdict, result.rewards) == (Verdict.FAIL, {"reward": 0.5})
    assert actor.shown["two"] == {"b.txt"}


def test_a_step_shows_nothing_of_those_after_it(tmp_path: Path) -> None:
    config, files = STEPPED_TASKS["the-last-counts"]
    harbor = HarborTask.from_folder(write_task(tmp_path / "t", files, config=config))
    assert harbor.steps == ("one", "two")
    assert not harbor.why_not()
    with pytest.raises(TaskError, match="2 steps"):
        _ = harbor.verification
    first = harbor.at("one").task()
    assert first.public().hidden is None
    assert not first.tree.files
    assert "two" not in first.prompt
    again = HarborTask.of(first)
    assert (again.name, again.step) == ("t", "one")
    following = again.next_step
    assert following is not None
    assert following.instruction == "Write two into b.txt.\n"
    assert following.brought.files.keys() == {"notes.txt", "setup.sh"}
    assert following.next_step is None
    second = following.task()
    assert second.hidden is not None
    assert not any(path.endswith(("instruction.md", "setup.sh")) for path in second.hidden.tree.files)
    assert second.limits.wall_s == 600  # as Harbor has it: a step does not inherit the task's seconds
    assert following.verification.env() == {"WANTED": "two"}
    assert following.verification.tests.files.keys() == {"test.sh", "check.sh"}


def test_rewards_of_steps_are_joined_as_harbor_joins_them() -> None:
    given = [{"reward": 1.0, "style": 0.5}, {"reward": 0.5}]
    assert combined(given, final=False) == {"reward": 0.75, "style": 0.25}
    assert combined(given, final=True) == {"reward": 0.5}
    assert combined([], final=True) == combined([], final=False) == {}


def test_rewards_are_read_back_from_what_is_kept_and_a_report_can_not_forge_them() -> None:
    report = b'{"results": {"tests": [{"name": "reward::reward", "status": "passed", "message": "1 of 1"}]}}'
    ruling = ruling_on(ExecResult(0, files={"reward.json": b'{"reward": 0.1234567891}', "ctrf.json": report}))
    observed = [case.id for case in ruling.cases]
    assert observed == ["reward::reward", "test reward::reward"]
    assert rewards_in(Evidence(cases=ruling.cases)) == {"reward": 0.1234567891}


@pytest.mark.parametrize(
    ("config", "files", "why"),
    [
        ('[[steps]]\nname = "one"\n[steps.healthcheck]\ncommand = "true"\n', {}, "service"),
        ('[[steps]]\nname = "one"\n[steps.verifier.env]\nKEY = "${OPENAI_API_KEY}"\n', {}, "OPENAI_API_KEY"),
        ('artifacts = ["out.txt"]\n[verifier]\nenvironment_mode = "separate"\n', {}, "absolute path"),
        ('artifacts = ["/"]\n[verifier]\nenvironment_mode = "separate"\n', {}, "absolute path"),
        ('artifacts = ["/root/x"]\n[verifier]\nenvironment_mode = "separate"\n', {}, "nothing but what lies in /app"),
        ('[verifier]\nenvironment_mode = "separate"\n', {"tests/compose.yaml": ""}, "several containers"),
        ("[verifier.environment]\ngpus = 1\n", {}, "GPU"),
        ('[[verifier.collect]]\ncommand = "x"\nservice = "db"\n', {}, "service db"),
    ],
)
def test_what_of_them_can_not_be_judged_is_said(
    tmp_path: Path, config: str, files: Mapping[str, str], why: str
) -> None:
    whole = {**HELLO, "steps/one/instruction.md": "x\n", "environment/Dockerfile": "FROM x\nWORKDIR /app\n", **files}
    harbor = HarborTask.from_folder(write_task(tmp_path / "t", whole, config=config))
    assert why in harbor.why_not()


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ('[[steps]]\nname = "../up"\n', "steps"),
        ('[[steps]]\nname = "One"\n[[steps]]\nname = "one"\n', "one name"),
        ('[[steps]]\nname = "two"\n', "steps/two/instruction.md"),
        ('[verifier]\nenvironment_mode = "shared"\n[verifier.environment]\ncpus = 1\n', "exclude each other"),
        ('artifacts = ["/app/../etc"]\n', "upwards"),
        ('multi_step_reward_strategy = "best"\n', "multi_step_reward_strategy"),
    ],
)
def test_steps_and_artifacts_that_are_malformed_are_said(tmp_path: Path, config: str, said: str) -> None:
    files = {**HELLO, "steps/one/instruction.md": "x\n"}
    with pytest.raises(TaskError, match=said):
        HarborTask.from_folder(write_task(tmp_path / "t", files, config=config))


@pytest.mark.parametrize("name", ["shop", "org/shop", "org/part/shop"])
def test_names_of_one_part_or_more_are_taken(tmp_path: Path, name: str) -> None:
    assert HarborTask.from_folder(write_task(tmp_path / "t", HELLO, config=f'[task]\nname = "{name}"\n')).name == name


def test_a_variable_of_the_agents_alone_is_left_out(tmp_path: Path) -> None:
    config = '[environment.env]\nAGENT_KEY = "${AGENT_KEY}"\nPLACE = "${PLACE:-here}"\n'
    harbor = HarborTask.from_folder(write_task(tmp_path / "a", HELLO, config=config))
    assert not harbor.why_not()
    assert harbor.verification.env() == {"PLACE": "here"}
    read = {**HELLO, "tests/judge.py": "import os\nos.environ['AGENT_KEY']\n"}
    assert "AGENT_KEY" in HarborTask.from_folder(write_task(tmp_path / "b", read, config=config)).why_not()


async def test_a_verifier_apart_sees_artifacts_alone(tmp_path: Path) -> None:
    config, files = APART_TASKS["a-copy-with-one-file"]
    task = HarborTask.from_folder(write_task(tmp_path / "t", files, config=config)).task()
    verifier = HarborVerifier(sandbox="bubblewrap")
    for changes, verdict in (
        ({"out.txt": b"hello\n", "other.txt": b"x"}, Verdict.PASS),
        ({"other.txt": b"hello\n"}, Verdict.FAIL),
    ):
        seen = await verifier.judge(Candidate(task.tree.digest, changes), task, tool_context())
        assert seen.verdict is verdict, seen


def test_a_verifier_with_an_image_of_its_own_is_none_of_bubblewraps(tmp_path: Path) -> None:
    config, files = APART_TASKS["an-image-of-its-own"]
    harbor = HarborTask.from_folder(write_task(tmp_path / "t", files, config=config))
    assert not harbor.why_not()
    assert "image of its own" in harbor.why_not_in_a_sandbox()
    assert harbor.project.files.keys() == {"hello.py"}


def test_where_the_root_is_the_project_no_candidate_writes_rewards_or_tests(tmp_path: Path) -> None:
    files = {**HELLO, "environment/Dockerfile": "FROM x\nWORKDIR /\n"}
    harbor = HarborTask.from_folder(write_task(tmp_path / "t", files))
    forged = Tree({"logs/verifier/reward.txt": b"1", "tests/conftest.py": b"", "srv/a.py": b""})
    job = verifiers_script(harbor, project_laid(harbor, Tree(), forged, ""), "")
    assert set(job.laid) == {"/srv/a.py", "/tests/test.sh"}
    assert {"/logs/verifier/reward.txt", "/logs/verifier/reward.json"} <= set(job.deleted)
