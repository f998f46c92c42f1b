"""A Countdown search as one text: the tree comes back, and every claim is held against arithmetic (row 35, row 8)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.core._errors import RecordingError
from groundwire.evaluation._process import wandering
from groundwire.tools.environments.worlds import _countdown as countdown
from groundwire.tools.environments.worlds._numbers import COUNTDOWN, Puzzle, solve
from groundwire.training.methods._stream_of_search import Node, as_text, explore, read


def adds_up(step: str) -> bool:
    """By Python's arithmetic."""
    found = re.fullmatch(r"(\d+)([-+*/])(\d+)=(\d+)", step)
    assert found
    left, right, result = (int(found[n]) for n in (1, 3, 4))
    return result == {"+": left + right, "-": left - right, "*": left * right, "/": left / right}[found[2]]


def operations(node: Node) -> list[str]:
    """Those on the way to the goal."""
    for child in node.children:
        if child.solved:
            return [str(child.operation), *operations(child)]
    return []


def test_a_search_comes_back_from_its_text_and_its_goal_agrees_with_arithmetic() -> None:
    backtracked = 0
    for seed in range(25):
        puzzle = countdown.puzzle(seed)
        root = explore(puzzle.numbers, puzzle.target)
        text = as_text(root, puzzle.target)
        trace = read(text)
        assert (trace.root, trace.target, trace.wrong) == (root, puzzle.target, ())
        assert as_text(trace.root, trace.target) == text
        assert trace.solved and text.count("Goal Reached") == 1 and all(trace.valid)
        way = operations(trace.root)
        assert all(map(adds_up, way))
        assert way[-1].endswith(f"={puzzle.target}")
        backtracked += text.count("No Solution") > 0
    assert backtracked > 5, "the texts hold dead ends"


@settings(max_examples=30)
@given(st.lists(st.integers(1, 12), min_size=2, max_size=3), st.integers(1, 60))
def test_a_full_search_finds_what_the_solver_finds(numbers: list[int], target: int) -> None:
    puzzle = Puzzle(tuple(numbers), target, COUNTDOWN)
    root = explore(numbers, target)
    trace = read(as_text(root, target))
    assert trace.solved == (solve(puzzle) is not None) and trace.root == root and not trace.wrong


def test_the_search_is_bounded_and_then_has_no_goal() -> None:
    root = explore((2, 3, 5, 7), 97, width=1)
    assert len(root.children) == 1 and not root.solved
    assert len(read(as_text(explore((2, 3, 5, 7), 96, nodes=3), 96)).valid) == 3


SHORT = """Current State: 24:[4, 6, 9], Operations: []
Exploring Operation: 9-4=5, Resulting Numbers: [5, 6]
Generated Node #0,0: 24:[5, 6] Operation: 9-4=5
Moving to Node #0,0
Current State: 24:[5, 6], Operations: ['9-4=5']
Exploring Operation: 6*5=30, Resulting Numbers: [30]
24,30 unequal: No Solution
Moving to Node #0
Current State: 24:[4, 6, 9], Operations: []
Exploring Operation: 6*4=24, Resulting Numbers: [9, 24]
24,24 equal: Goal Reached
"""
PLANTED = {
    "a wrong result": ("6*4=24, Resulting", "6*4=25, Resulting", "6*4=25 does not hold"),
    "a number from nowhere": ("9-4=5, Resulting", "9-3=6, Resulting", "9-3=6 uses a number that is not there"),
    "numbers kept": ("Numbers: [9, 24]", "Numbers: [4, 9, 24]", "other numbers result"),
    "a goal that is none": ("24,30 unequal: No Solution", "24,30 equal: Goal Reached", "not reached by operations"),
    "a goal that is denied": (
        "24,24 equal: Goal Reached",
        "24,24 unequal: No Solution",
        "said to be what they are not",
    ),
    "another number judged": ("24,24 equal", "24,23 equal", "it judges another number than was made"),
    "a jump": ("Moving to Node #0\n", "Moving to Node #0,7\n", "a node that was not generated"),
    "another state": ("24:[5, 6], Operations: ['9-4=5']", "24:[5, 5], Operations: []", "the state is another one"),
    "another node": ("Generated Node #0,0", "Generated Node #0,3", "it generates another node than was explored"),
}


@pytest.mark.parametrize("case", PLANTED)
def test_what_a_text_claims_wrongly_is_listed_with_its_line(case: str) -> None:
    old, new, why = PLANTED[case]
    assert read(SHORT).wrong == () and read(SHORT).solved
    assert old in SHORT
    wrong = read(SHORT.replace(old, new)).wrong
    assert any(why in one and one.startswith("line ") for one in wrong), wrong


def test_a_goal_reached_through_a_wrong_step_is_no_goal() -> None:
    text = SHORT.replace("9-4=5", "9-4=4").replace("[5, 6]", "[4, 6]").replace("6*5=30", "6*4=24")
    text = (
        text.replace("[30]", "[24]")
        .replace("24,30 unequal: No Solution", "24,24 equal: Goal Reached")
        .split("Moving to Node #0\n")[0]
    )
    trace = read(text)
    assert not trace.solved and trace.valid == (False, True)


def test_a_trace_with_two_planted_repeats_is_counted() -> None:
    again = "Exploring Operation: 9-4=5, Resulting Numbers: [5, 6]\n"
    invalid = "Exploring Operation: 9*4=35, Resulting Numbers: [6, 35]\n"
    told = wandering(*(lambda t: (t.states, t.valid))(read(SHORT + again + again + invalid)))
    assert (told.steps, told.revisits, told.invalid) == (6, 2, 1)
    assert wandering(read(SHORT).states, read(SHORT).valid).revisits == 0


@pytest.mark.parametrize(
    "text", ["", "Moving to Node #0", f"{SHORT}I give up.", SHORT.replace("24:[4", "24:[x"), "9" * 90]
)
def test_what_is_no_search_is_refused(text: str) -> None:
    with pytest.raises(RecordingError, match=r"no search|no line of a search"):
        read(text)
