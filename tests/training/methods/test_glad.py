"""Row 66, ProAct's GLAD: values from the world alone, the tree, and its compressed chain."""

from __future__ import annotations

import math
from contextlib import aclosing
from pathlib import Path

import pytest
from method_rows import exported, made
from recorded_runs import ledger_at, read, run, trajectories
from worlds import Chain, Porch

from groundwire.agents.worlds import RandomActor, ReActActor
from groundwire.agents.worlds._acting import StepsCritic
from groundwire.core._environments import environment_task
from groundwire.graphs.library._episodic import episodic
from groundwire.models import ScriptedBackend
from groundwire.training.methods._glad import GladRow, tree_of


async def test_values_of_a_chain_that_random_walks_went_through(tmp_path: Path) -> None:
    task = environment_task(Chain(), id="chain")
    async with aclosing(ledger_at(tmp_path)) as store:
        graph = episodic(RandomActor(), StepsCritic(), Chain)
        runs = [await run(store, graph, task, trials=1, seed=seed) for seed in range(40)]
    (row,), reasons = made("glad", await read(tmp_path, *runs), GladRow)
    assert not reasons and row.walks == 40 == row.tree[0].visits and row.actions == ("go", "go", "go")
    exact = {0: 1 / 8, 1: 1 / 4, 2: 1 / 2}
    here = 0
    for steps, chance in exact.items():
        place = row.tree[here]
        assert abs(place.value - chance) <= 3 * math.sqrt(chance * (1 - chance) / place.visits), steps
        here = next(n for n, p in enumerate(row.tree) if p.parent == here and p.action == "go")
    assert row.tree[here].value == 1.0 and row.tree[here].ended
    assert row.provenance.model == "" and len(row.provenance.episodes) == 40


async def test_the_tree_and_its_account(tmp_path: Path) -> None:
    walks = [["look", "kick door"], ["look", "look", "kick door"], ["lift mat", "unlock door"]]
    says = [f"Action: {action}" for walk in walks for action in walk]
    graph = episodic(ReActActor(ScriptedBackend(says)), StepsCritic(), Porch)
    told = await trajectories(tmp_path, graph, environment_task(Porch(), id="porch"))
    (row,), _ = made("glad", told, GladRow)
    assert [(p.parent, p.action, p.visits, p.value, p.ended) for p in row.tree] == [
        (None, "", 3, pytest.approx(1 / 3), False),
        (0, "look", 2, 0.0, False),
        (1, "kick door", 1, 0.0, True),
        (1, "look", 1, 0.0, False),
        (3, "kick door", 1, 0.0, True),
        (0, "lift mat", 1, 1.0, False),
        (5, "unlock door", 1, 1.0, True),
    ]
    assert row.compression <= 1
    short = [t.model_copy(update={"trials": tuple(one for one in t.trials if one.number != 2)}) for t in told]
    assert made("glad", short, GladRow) == ([], ["chain_longer_than_the_walks"])
    alone = [t.model_copy(update={"trials": tuple(one for one in t.trials if one.number == 3)}) for t in told]
    assert made("glad", alone, GladRow) == ([], ["too_few_walks"])
    assert row.chain == (
        "1. If I do look: You see a door and a mat. (won 0% of 2).\n"
        "1. So I do lift mat: You find a key. (won 100% of 1).\n"
        "2. So I do unlock door: The door opens. (won 100% of 1).\n"
    )
    own = [p for p in row.provenance.origins if p.part == "chain"]
    assert "".join(row.chain[p.start : p.end] for p in own) == row.chain
    assert {row.chain[p.start : p.end] for p in own if p.origin == "env"} >= {"You find a key."}
    _, report = exported("glad", told, tmp_path / "rows.jsonl")
    assert report.means["walks"] == 3
    lost = [t.model_copy(update={"trials": tuple(one for one in t.trials if one.number < 3)}) for t in told]
    assert made("glad", lost, GladRow) == ([], ["never_won"])


def test_no_walk_no_tree() -> None:
    (root,) = tree_of([])
    assert root.visits == 0 and root.value == 0.0
