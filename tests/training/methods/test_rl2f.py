"""Row 51, RL²F: a teacher who saw what judged, and may not tell."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import pytest
from guessing import Check
from method_rows import exported, made
from recorded_runs import ledger_at, read, repairing, run, saying, trajectories

from groundwire.training.methods._rl2f import MASKED, Rl2fRow, holds_the_answer


async def test_turns_with_who_was_shown_what_and_rewards_of_the_check(tmp_path: Path) -> None:
    told = await trajectories(tmp_path, repairing([saying("41"), saying("40"), saying("42")]))
    (row,), reasons = made("rl2f", told, Rl2fRow)
    assert not reasons and row.gold_known and row.leaks == 0
    assert [turn.speaker for turn in row.turns] == ["student", "teacher"] * 2 + ["student"]
    teachers = [turn for turn in row.turns if turn.speaker == "teacher"]
    students = [turn for turn in row.turns if turn.speaker == "student"]
    assert all(t.privileged and t.predict and not t.loss and t.reward is None for t in teachers)
    assert not any(turn.privileged for turn in students) and all(turn.loss for turn in students)
    assert [turn.reward for turn in students] == [0, 0, 1] == [a.reward for a in told[0].attempts]
    assert teachers[0].content == "Carry the four." and row.reward == 1.0
    written, report = exported("rl2f", told, tmp_path / "rows.jsonl", gold={"sum": ["42"]})
    assert len(written) == 1 and report.means == {"reward": 1, "leaks": 0}, "the student may know the answer"


async def test_a_teacher_who_tells_is_masked_and_nothing_after_it_is_learned(tmp_path: Path) -> None:
    async with aclosing(ledger_at(tmp_path)) as store:
        check = Check(("42",))
        leaking = repairing([saying("41"), saying("42")], reflection="It is 42.0, as you see.", check=check)
        lost = repairing([saying("41"), saying("40")], reflection="Not 42 yet.")
        runs = [await run(store, leaking), await run(store, lost, trials=2)]
    told = await read(tmp_path, *runs)
    rows, _ = made("rl2f", told, Rl2fRow)
    for row in rows:
        student, teacher, again = row.turns
        assert teacher.content == MASKED and teacher.masked and not teacher.predict and row.leaks == 1
        assert student.loss and not again.loss
    assert [row.reward for row in rows] == [1.0, 0.0], (
        "and the other episode's leak is known from the first one's answer"
    )
    written, report = exported("rl2f", told[1:], tmp_path / "rows.jsonl", gold={"sum": ["42"]})
    assert not written and report.rejected["holds_the_answer"] == 1, (
        "with the key, what was not known to be one is found"
    )
    none, why = made("rl2f", await trajectories(tmp_path, repairing([saying("42")])), Rl2fRow)
    assert (none, why) == ([], ["no_teacher"])


@pytest.mark.parametrize(
    ("text", "gold", "holds"),
    [
        ("the answer is PARIS.", "Paris", True),
        ("it is  1,000.50 euros", "1000.5", True),
        ("it is 1000", "1,000", True),
        ("about 420", "42", False),
        ("42.50", "42", False),
        ("Parisian", "Paris", False),
        ("anything", "  ", False),
        ("9" * 100, "9" * 100, True),
    ],
)
def test_an_answer_in_another_spelling(text: str, gold: str, holds: bool) -> None:
    assert holds_the_answer(text, [gold]) is holds
