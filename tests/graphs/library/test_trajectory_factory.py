"""trajectory_factory: roll-outs in a real world and on a real check, in a ledger, as exports that trainers read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from guessing import Check
from pages import check_page
from recorded_runs import ledger_at, question, saying
from worlds import Porch

from groundwire import Budget, EpisodeResult, FeedbackGraph, StopReason, Task
from groundwire.agents import LLMActor, LLMCritic
from groundwire.agents.worlds import ReActActor, RollOutActor
from groundwire.agents.worlds._roll_outs import kept_steps
from groundwire.cli._export import ExportRequest, run_export
from groundwire.core._environments import environment_task
from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend, Request
from groundwire.graphs.library._trajectory_factory import trajectory_factory
from groundwire.models import ScriptedBackend
from groundwire.tools.environments import EnvironmentTool

PORCHES = tuple(environment_task(Porch(), id=f"porch-{n}", seed=n, prompt="Get in.", family="doors") for n in range(2))
TRIED = ["kick door", "lift mat", "kick door", "lift mat", "look", "unlock door"]
"""Of one episode, where each place may be asked for twice: a loss, a loss one step further on, and a win."""


def in_world(model: Backend) -> FeedbackGraph:
    policy = ReActActor(model, remembers="nothing", temperature=1.0)
    return trajectory_factory(policy, EnvironmentTool(Porch), ways=2)


def rolled(folder: Path, graph: FeedbackGraph, tasks: Sequence[Task], *, times: int) -> list[EpisodeResult]:
    async def work() -> list[EpisodeResult]:
        async with aclosing(ledger_at(folder)) as store:
            return await graph.compile(store=store, budget=Budget(trials=3)).abatch(tasks, times=times, at_once=1)

    return asyncio.run(work())


def rows(folder: Path, form: str, run_id: str) -> list[dict[str, Any]]:
    out = folder / f"{form}.jsonl"
    asked = ExportRequest(runs=[run_id], form=form, out=out, target_model="scripted", as_json=True)
    assert run_export(asked, {"db": f"sqlite:///{folder / 'ledger.db'}"}) == 0
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_a_tree_of_roll_outs_in_a_world_as_six_exports(tmp_path: Path) -> None:
    model = ScriptedBackend([f"Action: {action}" for action in TRIED] * 4)
    results = rolled(tmp_path, in_world(model), PORCHES, times=2)
    assert [(r.task_id, r.trials, r.stop_reason) for r in results] == [
        (task.id, 3, StopReason.VERIFIED) for task in PORCHES for _ in range(2)
    ]
    assert len(model.requests) == 4 * len(TRIED), "what is taken again is asked of nobody"
    run_id = results[0].run_id

    whole = rows(tmp_path, "trajectory", run_id)
    assert [row["trajectory"]["seed"] for row in whole] == [0, 1, 0, 1]
    assert len({row["group"] for row in whole}) == 2 and whole[0]["group"] == whole[1]["group"]
    for row in whole:
        trials = row["trajectory"]["trials"]
        assert [trial["reward"] for trial in trials] == [0.0, 0.0, 1.0], "what failed is kept"
        assert [attempt["note"] for attempt in trials[2]["attempts"]] == ["lift mat", "lift mat", "look", "unlock door"]
        assert row["first_error"] == 0 and row["reward"] == 1.0

    steps = rows(tmp_path, "prm", run_id)
    assert sorted((len(row["completions"]), row["first_error"]) for row in steps if row["first_error"] is not None) == [
        (1, 0), (1, 0), (2, 1), (2, 1),
    ]  # fmt: skip
    (won, _) = [row for row in steps if row["first_error"] is None]
    asked = ["lift mat", "You find a key.|look", "You see a door and a mat.|unlock door"]
    asked = [f"{shown}\nAction: {done}".lstrip() for shown, _, done in (one.rpartition("|") for one in asked)]
    assert won["completions"] == asked and won["prompt"].count('action="lift mat"') == 1, "the rest was replayed"
    assert rows(tmp_path, "sft", run_id)[0]["reward"] == 1.0
    assert {row["label"] for row in rows(tmp_path, "kto", run_id)} == {True, False}

    grouped = [row for row in rows(tmp_path, "grpo", run_id) if 0 < row["correct_ratio"] < 1]
    assert {(row["completion"][0]["content"], row["reward"]) for row in grouped} == {
        ("Action: kick door", 0.0),
        ("Action: lift mat", 1.0),
    }
    assert len({row["group"] for row in grouped}) == 2 and {row["n"] for row in grouped} == {4}
    for pair in rows(tmp_path, "dpo", run_id):
        assert pair["same_prompt"], "what is right at one place of a world says nothing of another"
        assert (pair["chosen"][0]["content"], pair["rejected"][0]["content"]) == (
            "Action: lift mat",
            "Action: kick door",
        )


def test_k_turns_on_a_check_are_groups_of_one_prompt(tmp_path: Path) -> None:
    def says(request: Request) -> str:
        return "Carry the four." if request.purpose == "reflect" else saying(next(answers))

    answers = iter(("41", "40", "39", "7", "42", "42"))
    model = ScriptedBackend(says, model="scripted")
    graph = trajectory_factory(LLMActor(model, answer="whole"), Check(("42",)), LLMCritic(model))
    results = rolled(tmp_path, graph, [question()], times=3)
    assert [(r.trials, r.stop_reason) for r in results] == [
        (3, StopReason.BUDGET_TRIALS),
        (2, StopReason.VERIFIED),
        (1, StopReason.VERIFIED),
    ]
    grpo = rows(tmp_path, "grpo", results[0].run_id)
    first = [row for row in grpo if row["n"] == 3]
    assert len({row["group"] for row in first}) == 1 and [row["reward"] for row in first] == [0.0, 0.0, 1.0]
    assert [row["first_error"] for row in rows(tmp_path, "trajectory", results[0].run_id)] == [0, 0, None]
    (turns, *_) = rows(tmp_path, "two_attempts", results[0].run_id)
    assert (turns["reward_first"], turns["reward_second"]) == (0.0, 0.0)
    assert "Carry the four." in turns["instruction"][-1]["content"] and "Carry" not in turns["prompt"][-1]["content"]


async def test_its_state_says_where_roll_outs_part() -> None:
    model = ScriptedBackend([f"Action: {action}" for action in TRIED])
    app = in_world(model).compile(budget=Budget(trials=3))
    async with app.episode(PORCHES[0]) as episode:
        updates = app.langgraph.astream(app.input(episode), context=episode, stream_mode="updates")
        placed = [update["place"] async for update in updates if "place" in update]
    parted = [(one["lost"], one["shared"]) for one in placed]
    assert parted[0] == (0, 0) and (1, 0) in parted
    assert parted[-1] == (2, 1), "won: the second step of the roll-out before was its first bad one"


def test_each_place_is_asked_so_often_and_the_last_one_first() -> None:
    assert kept_steps([], 2) == () and kept_steps([("a", "b")], 1) == ()
    first, second, third = ("a", "b", "c"), ("a", "b", "d"), ("a", "e", "f")
    assert kept_steps([first], 2) == ("a", "b")
    assert kept_steps([first, second], 2) == ("a",)
    assert kept_steps([first, second, third], 2) == ("a", "e")
    assert kept_steps([first, second, third, ("a", "e", "g")], 2) == ()
    with pytest.raises(ConfigError, match="times is 0"):
        in_world(ScriptedBackend([])).compile().batch(PORCHES, times=0)
    with pytest.raises(ConfigError, match="ways is 0"):
        RollOutActor(ReActActor(ScriptedBackend([])), ways=0)


def test_its_page_shows_this_graph() -> None:
    check_page("trajectory_factory", in_world(ScriptedBackend([])))
