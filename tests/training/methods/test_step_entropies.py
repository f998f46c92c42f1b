"""Steps with their entropies, and what EMPG makes of them."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_rows import made
from recorded_runs import Certain, trajectories
from worlds import Porch

from groundwire.agents.worlds import ReActActor
from groundwire.agents.worlds._acting import StepsCritic
from groundwire.core._environments import environment_task
from groundwire.core._errors import ConfigError
from groundwire.graphs.library._episodic import episodic
from groundwire.models import ScriptedBackend
from groundwire.training.methods._step_entropies import StepEntropyRow, confidence, modulated, normalised

SAYS = ["Action: look", "Action: kick door", "Action: lift mat", "Action: unlock door"]


async def test_every_step_has_its_entropy_and_that_of_the_next(tmp_path: Path) -> None:
    graph = episodic(ReActActor(Certain(SAYS)), StepsCritic(), Porch)
    told = await trajectories(tmp_path, graph, environment_task(Porch(), id="porch"))
    rows, reasons = made("step_entropies", told, StepEntropyRow)
    assert [row.step[0].content for row in rows] == SAYS and not reasons
    assert [(row.index, row.steps, row.reward) for row in rows] == [(0, 2, 0), (1, 2, 0), (0, 2, 1), (1, 2, 1)]
    turns = {turn.id: turn for turn in told[0].turns}
    for row in rows:
        entropies = turns[row.provenance.turns[0]].entropies
        assert entropies and row.step_entropy == pytest.approx(statistics.fmean(entropies)) and row.step_entropy > 0
    assert [row.next_entropy for row in rows] == [rows[1].step_entropy, None, rows[3].step_entropy, None]
    assert len({row.sequence for row in rows}) == 2 and len({row.group for row in rows}) == 1
    (tmp_path / "plain").mkdir()
    graph = episodic(ReActActor(ScriptedBackend(SAYS)), StepsCritic(), Porch)
    told = await trajectories(tmp_path / "plain", graph, environment_task(Porch(), id="porch"))
    assert made("step_entropies", told, StepEntropyRow) == ([], ["no_entropies"] * 2)


@given(st.lists(st.floats(0, 12), min_size=1, max_size=40), st.floats(0, 5))
def test_confidence_is_1_on_average_and_falls_with_entropy(entropies: list[float], k: float) -> None:
    weights = confidence(entropies, k)
    assert statistics.fmean(weights) == pytest.approx(1.0)
    in_order = [weight for _, weight in sorted(zip(entropies, weights, strict=True), key=lambda pair: pair[0])]
    assert in_order == sorted(in_order, reverse=True)
    assert all(0 <= value <= 1 for value in normalised(entropies))


def test_sure_steps_count_more_and_a_sure_next_step_is_worth_something() -> None:
    told = modulated([1, 1, -1, -1], [0.1, 2.1, 0.1, 2.1], [2.1, None, 0.1, None], zeta=0.0)
    assert told[0] > told[1] > 0 > told[3] > told[2] and sum(told) == pytest.approx(0)
    assert abs(told[0]) == pytest.approx(abs(told[2]))
    plain = modulated([1, 1, -1, -1], [1, 1, 1, 1], [1, 1, 1, 1], zeta=0.0)
    assert plain == [1, 1, -1, -1]
    paid = modulated([0, 0, 0], [0, 1, 0.5], [0.0, 1.0, None], zeta=0.3)
    assert paid[0] > paid[1] > paid[2] and sum(paid) == pytest.approx(0)
    assert modulated([], [], []) == [] == confidence([])
    with pytest.raises(ConfigError):
        modulated([1], [1, 2], [None])
    with pytest.raises(ConfigError):
        confidence([1], -1)
