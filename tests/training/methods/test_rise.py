"""Row 69, RISE: turns, and the four filters that keep them."""

from __future__ import annotations

from pathlib import Path

import pytest
from method_rows import exported, made
from recorded_runs import repairing, saying, trajectories

from groundwire.core._errors import ConfigError
from groundwire.training.methods._rise import RiseRow, filters_of, regression_weights


async def test_a_run_that_was_wrong_twice_and_then_right(tmp_path: Path) -> None:
    told = await trajectories(tmp_path, repairing([saying("41"), saying("40"), saying("42")]))
    rows, reasons = made("rise", told, RiseRow)
    assert [row.reward for row in rows] == [0, 0, 1] and not reasons
    kept = {name: [row.turn for row in rows if name in row.kept_by] for name in ("all", "better", "best", "success")}
    assert kept == {"all": [1, 2, 3], "better": [1, 3], "best": [1, 2, 3], "success": [3]}
    assert {row.turns for row in rows} == {3}
    assert "<reflection>" not in rows[0].prompt[-1].content and "<reflection>" in rows[2].prompt[-1].content
    written, report = exported("rise", told, tmp_path / "rise.jsonl")
    assert [row["turn"] for row in written] == [1, 2, 3] and report.means == {"reward": 1 / 3}


async def test_turns_that_say_the_same_and_the_best_of_several(tmp_path: Path) -> None:
    answers = [saying("41"), saying("40"), saying("39"), saying("42")]
    told = await trajectories(tmp_path, repairing(answers, samples=2), trials=2)
    rows, _ = made("rise", told, RiseRow)
    assert [(row.turn, row.of, row.reward) for row in rows] == [(1, 2, 0), (2, 2, 1)]
    # the loop never has the same candidate judged twice, so the second turn is made to say what the first said
    first, second = told[0].trials
    same = second.turns[0].model_copy(update={"answer": first.turns[0].answer})
    said = second.model_copy(update={"turns": (same, *second.turns[1:]), "attempts": second.attempts[:1]})
    again = told[0].model_copy(update={"trials": (first, said)})
    rows, reasons = made("rise", [again], RiseRow)
    assert [row.turn for row in rows] == [1] and "said_before" in reasons


def test_filters_and_weights_by_hand() -> None:
    assert filters_of([0, 0]) == [("all", "better", "best"), ("all", "best")]
    # no earlier one is better: ties stay; better is told from the turn before alone
    told = filters_of([0.5, 0.2, 0.4, 0.5])
    assert ["better" in one for one in told] == [True, False, True, True]
    assert ["best" in one for one in told] == [True, False, False, True]
    assert filters_of([1]) == [("all", "better", "best", "success")] and filters_of([]) == []
    low, high = regression_weights([0, 1], temperature=0.5)
    assert high / low == pytest.approx(7.389, rel=1e-3) and low + high == pytest.approx(2)
    assert regression_weights([0, 1], temperature=1e-9) == [0, 2], "no overflow"
    with pytest.raises(ConfigError):
        regression_weights([1], temperature=0)
