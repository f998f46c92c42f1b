"""The environment tool: the world's word becomes a verdict, and trouble with the world never does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from threading import Event
from typing import Any

import pytest
from worlds import Corridor, Porch, Quiz, Trouble

from groundwire import NoVerdict, Observation, Origin, Task, Tree, Verdict
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ToolContext
from groundwire.core._environments import ACTIONS, START, Environment, actions_in, attempt, environment_task, start_of
from groundwire.core._errors import CandidateError, ConfigError, TaskError
from groundwire.core._scenes import Scene, Status
from groundwire.tools.environments import EnvironmentTool

NO_CONTEXT: Any = ToolContext(sandbox=None, call=None)  # pyright: ignore[reportArgumentType]  it needs neither


class Bench:
    """One tool, one task, and every world that was made."""

    def __init__(self, make: Callable[[], Any], **options: Any) -> None:
        self.made: list[Any] = []
        self.task = environment_task(make(), id="world", seed=4)
        self._make = make
        self.tool = EnvironmentTool(self._new, **options)

    def _new(self) -> Environment:
        self.made.append(self._make())
        return self.made[-1]

    async def judge(self, *actions: str, trial: int = 1) -> Observation:
        return await self.tool.judge(attempt(self.task, trial, actions), self.task, NO_CONTEXT)

    async def play(self, actions: Sequence[str], trial: int = 1) -> list[Observation]:
        return [await self.judge(*actions[: n + 1], trial=trial) for n in range(len(actions))]


async def test_only_won_is_a_pass_and_each_trial_has_one_world() -> None:
    bench = Bench(Porch)
    seen = await bench.play(["look", "unlock door", "lift mat", "unlock door"])
    assert [o.verdict for o in seen] == [Verdict.NONE, Verdict.NONE, Verdict.NONE, Verdict.PASS]
    assert [o.reason for o in seen[:3]] == [NoVerdict.GO_ON] * 3
    assert {o.origin for o in seen} == {Origin.ENVIRONMENT}
    assert "You have no key." in seen[1].evidence.stdout and '"lift mat"' in seen[1].evidence.stdout
    assert len(bench.made) == 1, "the world stays open between steps"
    (lost,) = await bench.play(["kick door"], trial=2)
    assert (lost.verdict, lost.evidence.detail, lost.oracle) == (Verdict.FAIL, "lost after 1 action", False)
    assert [(w.seed, w.has_key) for w in bench.made] == [(4, True), (4, False)], "a trial begins the world anew"


async def test_another_process_goes_on_by_taking_the_actions_again_and_a_branch_leaves_the_first_way_alone() -> None:
    bench = Bench(Porch)
    await bench.play(["lift mat"])
    other = EnvironmentTool(Porch)
    way = attempt(bench.task, 1, ["lift mat", "unlock door"])
    assert (await other.judge(way, bench.task, NO_CONTEXT)).verdict is Verdict.PASS
    assert (await bench.judge("lift mat", "look")).verdict is Verdict.NONE
    assert (await bench.judge("lift mat", "unlock door")).verdict is Verdict.PASS
    assert len(bench.made) == 2


async def test_a_candidate_binds_actions_trial_seed_and_first_scene() -> None:
    task, other = (environment_task(Porch(), id="a", seed=seed) for seed in (1, 2))
    digests = {
        attempt(task, 1, ["look"]).digest,
        attempt(task, 2, ["look"]).digest,
        attempt(task, 1, ["look", "look"]).digest,
        attempt(other, 1, ["look"]).digest,
    }
    assert len(digests) == 4
    assert attempt(task, 1, ["a", "b"]).extends(attempt(task, 1, ["a"]))
    assert actions_in(attempt(task, 1, ['a\n"b"', "\u2028"])) == ('a\n"b"', "\u2028"), "no action can pass for two"
    assert start_of(task).scene == Scene("You are at door 1. There is a mat.", Status.RUNNING, Porch().reset(1).actions)
    seen = await EnvironmentTool(Porch).judge(attempt(other, 1, ["look"]), task, NO_CONTEXT)
    assert (seen.reason, "another world" in seen.evidence.detail) == (NoVerdict.USAGE, True)


@pytest.mark.parametrize(("times", "verdict"), [(3, Verdict.NONE), (4, Verdict.FAIL)])
async def test_the_same_action_and_answer_more_than_three_times_is_stuck(times: int, verdict: Verdict) -> None:
    seen = await Bench(Porch).play(["look"] * times)
    assert seen[-1].verdict is verdict
    assert all(o.verdict is Verdict.NONE for o in seen[:3])
    if verdict is Verdict.FAIL:
        assert seen[-1].evidence.detail.startswith("stuck: same_step")
        assert seen[-1].evidence.failed()[0].message.endswith("You see a door and a mat.")


async def test_the_thirty_first_action_is_inefficient_and_both_rules_can_be_set() -> None:
    seen = await Bench(Corridor).play([f"go {n}" for n in range(31)])
    assert [o.verdict for o in seen] == [Verdict.NONE] * 30 + [Verdict.FAIL]
    assert "inefficient: more than 30 actions" in seen[-1].evidence.detail
    free = await Bench(Porch, repeats=None, actions=None).play(["look"] * 40)
    assert {o.verdict for o in free} == {Verdict.NONE}
    assert (await Bench(Porch, repeats=1).play(["look"] * 2))[-1].verdict is Verdict.FAIL
    with pytest.raises(ConfigError):
        EnvironmentTool(Porch, repeats=0)


async def test_a_key_that_was_used_is_marked_and_without_one_there_is_no_verdict() -> None:
    right, wrong = await Bench(Quiz).judge("finish paris"), await Bench(Quiz).judge("finish rome")
    assert [(o.verdict, o.oracle) for o in (right, wrong)] == [(Verdict.PASS, True), (Verdict.FAIL, True)]
    (looked,) = await Bench(Quiz).play(["france"])
    assert (looked.reason, looked.oracle) == (NoVerdict.GO_ON, False)
    unknown = await Bench(lambda: Quiz(key=None)).judge("finish paris")
    assert (unknown.verdict, unknown.reason) == (Verdict.NONE, NoVerdict.REPORT_MISSING)


@pytest.mark.parametrize(
    ("action", "reason", "said"),
    [
        ("crash", NoVerdict.RUNNER_CRASHED, r"OSError: the game has ended: \x1b[31m"),
        ("exit", NoVerdict.RUNNER_CRASHED, "SystemExit: 3"),
        ("hang", NoVerdict.LIMIT_HIT, "no answer in 0.1 s"),
        ("nonsense", NoVerdict.RUNNER_CRASHED, "a scene is made of texts"),
        ("half won", NoVerdict.RUNNER_CRASHED, "'done' is not a valid Status"),
    ],
)
async def test_trouble_with_the_world_is_no_verdict(action: str, reason: NoVerdict, said: str) -> None:
    # only the one that hangs is cut off: a loaded machine takes its time over the others
    seen = await Bench(Trouble, timeout_s=0.1 if action == "hang" else 60).judge("fine", action)
    assert (seen.verdict, seen.reason) == (Verdict.NONE, reason)
    assert said in seen.evidence.detail


async def test_a_world_that_contradicts_itself_is_no_verdict() -> None:
    shared = Trouble()  # one world for all: what was done in one trial shows in the next
    bench = Bench(lambda: shared)
    assert (await bench.judge("drift")).reason is NoVerdict.GO_ON
    again = await bench.tool.judge(attempt(bench.task, 1, ["drift", "fine"]), bench.task, NO_CONTEXT)
    assert again.reason is NoVerdict.GO_ON
    back = await bench.judge("drift")
    assert (back.reason, "led somewhere else before" in back.evidence.detail) == (NoVerdict.FLAKY, True)
    other = environment_task(Porch(), id="world", seed=5)
    moved = await bench.tool.judge(attempt(other, 1, ["look"]), other, NO_CONTEXT)
    assert (moved.reason, "does not begin as the task says" in moved.evidence.detail) == (NoVerdict.FLAKY, True)


async def test_a_step_that_is_cancelled_leaves_no_world_open() -> None:
    begun, released, closed = Event(), Event(), Event()

    class Slow(Porch):
        def act(self, action: str) -> Scene:
            begun.set()
            released.wait(20)
            return super().act(action)

        def close(self) -> None:
            closed.set()

    step = asyncio.create_task(Bench(Slow).judge("look"))
    assert await asyncio.to_thread(begun.wait, 20)
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    released.set()
    assert await asyncio.to_thread(closed.wait, 20)


async def test_a_flood_is_cut_and_made_harmless() -> None:
    seen = await Bench(Trouble).judge("flood")
    assert len(seen.evidence.stdout) < 20_000
    assert "\x1b" not in seen.evidence.stdout and "\x00" not in seen.evidence.stdout


async def test_what_is_no_action_or_no_world_is_a_usage_error() -> None:
    task = environment_task(Porch(), id="world")
    for changes in ({"other.py": b""}, {ACTIONS: b"{}\n7\n"}, {ACTIONS: b"{}\nnot json\n"}, {ACTIONS: None}):
        seen = await EnvironmentTool(Porch).judge(Candidate(task.tree.digest, changes), task, NO_CONTEXT)
        assert seen.reason is NoVerdict.USAGE
    plain = Task(id="plain", tree=Tree({"a.py": b""}))
    assert (await EnvironmentTool(Porch).judge(attempt(plain, 1, ["x"]), plain, NO_CONTEXT)).reason is NoVerdict.USAGE
    for actions in ([], ["x" * 501]):
        with pytest.raises(CandidateError):
            attempt(task, 1, actions)


def test_a_world_that_can_not_begin_or_is_over_at_once_makes_no_task() -> None:
    class Over(Porch):
        def reset(self, seed: int) -> Scene:
            return Scene("", Status.WON)

    class Broken(Porch):
        def reset(self, seed: int) -> Scene:
            raise OSError("no such game")

    with pytest.raises(TaskError, match="is won before"):
        environment_task(Over(), id="over")
    with pytest.raises(TaskError, match="no such game"):
        environment_task(Broken(), id="broken")
    assert START in environment_task(Porch(), id="fine").tree.files
