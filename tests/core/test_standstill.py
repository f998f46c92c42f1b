"""Steps that lead nowhere: found by rule."""

from __future__ import annotations

from groundwire.core._environments import Step, standstill_of_steps


def found(steps: list[Step], taken: int, repeats: int | None = 3, actions: int | None = None) -> str:
    return standstill_of_steps(steps, taken, repeats=repeats, actions=actions)


def test_four_equal_steps_are_stuck_and_three_are_not() -> None:
    look, turn = Step("look", "a wall"), Step("turn", "a wall")
    assert not found([look] * 3, 3)
    assert found([look] * 4, 4).startswith("same_step")
    assert not found([look, look, turn, look, look], 5)
    assert not found([look] * 9, 9, repeats=None)
    assert not found([Step("look", "")] * 9, 9), "a response that says nothing is none"


def test_thirty_one_actions_are_inefficient() -> None:
    steps = [Step(f"go {i}", f"room {i}") for i in range(31)]
    assert not found(steps[:30], 30, actions=30)
    assert found(steps[-4:], 31, actions=30).startswith("inefficient: more than 30 actions")
    assert not found(steps, 31)
