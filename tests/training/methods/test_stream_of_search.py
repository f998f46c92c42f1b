"""Runs in the Countdown world as whole searches."""

from __future__ import annotations

from pathlib import Path

from made_rows import made
from recorded_runs import question, repairing, saying, trajectories

from groundwire.agents.worlds import ReActActor
from groundwire.agents.worlds._acting import StepsCritic
from groundwire.graphs.library._episodic import episodic
from groundwire.models import ScriptedBackend
from groundwire.tools.environments._catalogue import world
from groundwire.tools.environments.worlds._countdown import puzzle
from groundwire.tools.environments.worlds._numbers import solve
from groundwire.training import Trajectory
from groundwire.training.methods._stream_of_search import Node, StreamOfSearchRow, read

SEED = 3


async def played(folder: Path, *actions: str) -> list[Trajectory]:
    """The trials of one episode in the world."""
    countdown = world("countdown")
    graph = episodic(ReActActor(ScriptedBackend([f"Action: {one}" for one in actions])), StepsCritic(), countdown.make)
    return await trajectories(folder, graph, countdown.task(SEED))


def ways(node: Node) -> int:
    """Leaves of a tree."""
    return sum(map(ways, node.children)) or 1


async def test_dead_ends_and_the_way_that_won_are_one_text_that_arithmetic_bears_out(tmp_path: Path) -> None:
    asked = puzzle(SEED)
    found = solve(asked)
    assert found and asked.start == (5, 6, 9, 50) and asked.target == 71
    won = [str(one) for one in found]
    lost = ["6 + 5", "50 - 11", "39 - 9"]
    told = await played(tmp_path, "6 + 6", *lost, "6 + 5", "50 + 11", "61 + 9", *won)
    (row,), reasons = made("stream_of_search", told, StreamOfSearchRow)
    assert not reasons and row.reward == 1.0
    trace = read(row.completion[0].content)
    assert trace.solved and not trace.wrong and (trace.target, trace.root.numbers) == (71, (5, 6, 9, 50))
    operations = [str(child.operation) for child in trace.root.children]
    assert operations[0] == "6+5=11", "the action that the world refused is not there"
    assert [str(child.operation) for child in trace.root.children[0].children][:2] == ["50-11=39", "50+11=61"]
    assert row.completion[0].content.count("No Solution") == 2, "two trials share their first step, and end dead"
    assert row.nodes == len(trace.valid) and ways(trace.root) == 3
    assert row.prompt[0].content == "Make 71 of 5, 6, 9, 50, using each number at most once."


async def test_a_search_that_fails_is_kept_and_what_is_none_is_not(tmp_path: Path) -> None:
    told = await played(tmp_path, *["6 + 5", "50 - 11", "39 - 9"] * 9)
    (row,), _ = made("stream_of_search", told, StreamOfSearchRow)
    assert row.reward == 0.0 and row.nodes == 3 and not read(row.completion[0].content).solved
    assert made("stream_of_search", told, StreamOfSearchRow, keep_failed=False) == ([], ["failed"])
    (tmp_path / "at once").mkdir()
    told = await played(tmp_path / "at once", *["50 \u00d7 5", "(5 + 6) * 9"] * 9)
    assert made("stream_of_search", told, StreamOfSearchRow) == ([], ["answered_at_once"])
    (tmp_path / "other").mkdir()
    told = await trajectories(tmp_path / "other", repairing([saying("42")]), question())
    assert made("stream_of_search", told, StreamOfSearchRow) == ([], ["not_countdown"])
