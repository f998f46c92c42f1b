"""A Countdown search as one text: the tree comes back, and every claim is held against arithmetic (row 35, row 8)."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.core._errors import RecordingError
from groundwire.evaluation._process import wandering
from groundwire.tools.environments.worlds import _countdown as countdown
from groundwire.tools.environments.worlds._numbers import COUNTDOWN, NumbersPuzzle, solve
from groundwire.training.methods._stream_of_search import SearchNode, as_text, explore, read


def adds_up(step: str) -> bool:
    """By Python's arithmetic."""
    found = re.fullmatch(r"(\d+)([-+*/])(\d+)=(\d+)", step)
    assert found
    left, right, result = (int(found[n]) for n in (1, 3, 4))
    return result == {"+": left + right, "-": left - right, "*": left * right, "/": left / right}[found[2]]


def operations(node: SearchNode) -> list[str]:
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
    puzzle = NumbersPuzzle(tuple(numbers), target, COUNTDOWN)
    root = explore(numbers, target)
    trace = read(as_text(root, target))
    assert trace.solved == (solve(puzzle) is not None) and trace.root == root and not trace.wrong


def test_the_search_is_bounded_and_then_has_no_goal() -> None:
    root = explore((2, 3, 5, 7), 97, width=1)
    assert len(root.children) == 1 and not root.solved
    assert len(read(as_text(explore((2, 3, 5, 7), 96, nodes=3), 96)).valid) == 3


SHORT = """Current State: 24:[4, 6, 9], Operations: []
Exploring Operation: 9-4=5, Resulting Numbers: [6, 5]
Generated Node #0,0: 24:[6, 5] Operation: 9-4=5
Moving to Node #0,0
Current State: 24:[6, 5], Operations: ['9-4=5']
Exploring Operation: 6*5=30, Resulting Numbers: [30]
30,24 unequal: No Solution
Moving to Node #0
Current State: 24:[4, 6, 9], Operations: []
Exploring Operation: 6*4=24, Resulting Numbers: [9, 24]
24,24 equal: Goal Reached
"""
PLANTED = {
    "a wrong result": ("6*4=24, Resulting", "6*4=25, Resulting", "6*4=25 does not hold"),
    "a number from nowhere": ("9-4=5, Resulting", "9-3=6, Resulting", "9-3=6 uses a number that is not there"),
    "numbers kept": ("Numbers: [9, 24]", "Numbers: [4, 9, 24]", "other numbers result"),
    "a goal that is none": ("30,24 unequal: No Solution", "30,24 equal: Goal Reached", "not reached by operations"),
    "a goal that is denied": (
        "24,24 equal: Goal Reached",
        "24,24 unequal: No Solution",
        "said to be what they are not",
    ),
    "another number judged": ("24,24 equal", "24,23 equal", "it judges another number than was made"),
    "a jump": ("Moving to Node #0\n", "Moving to Node #0,7\n", "a node that was not generated"),
    "another state": ("24:[6, 5], Operations: ['9-4=5']", "24:[5, 5], Operations: []", "the state is another one"),
    "another node": ("Generated Node #0,0", "Generated Node #0,3", "it generates another node than was explored"),
}


@pytest.mark.parametrize("case", PLANTED)
def test_what_a_text_claims_wrongly_is_listed_with_its_line(case: str) -> None:
    old, new, why = PLANTED[case]
    assert read(SHORT).wrong == () and read(SHORT).solved
    assert old in SHORT
    wrong = read(SHORT.replace(old, new)).wrong
    assert any(why in one and one.startswith("line ") for one in wrong), wrong


PUBLISHED = (
    # the newest number last, what was made before the target, a difference of 0, a step back behind each dead end
    """Current State: 12:[5, 5, 3], Operations: []
Exploring Operation: 5-5=0, Resulting Numbers: [3, 0]
Generated Node #0,0: 12:[3, 0] Operation: 5-5=0
Moving to Node #0,0
Current State: 12:[3, 0], Operations: ['5-5=0']
Exploring Operation: 3+0=3, Resulting Numbers: [3]
3,12 unequal: No Solution
Moving to Node #0,0
Current State: 12:[3, 0], Operations: ['5-5=0']
Exploring Operation: 3*0=0, Resulting Numbers: [0]
0,12 unequal: No Solution
Moving to Node #0
Current State: 12:[5, 5, 3], Operations: []
Exploring Operation: 5+5=10, Resulting Numbers: [3, 10]
Generated Node #0,1: 12:[3, 10] Operation: 5+5=10
Moving to Node #0,1
Current State: 12:[3, 10], Operations: ['5+5=10']
Exploring Operation: 10+3=13, Resulting Numbers: [13]
13,12 unequal: No Solution
""",
    # breadth first: all of a level is generated before it moves
    """Current State: 14:[2, 9, 3], Operations: []
Exploring Operation: 9+3=12, Resulting Numbers: [2, 12]
Generated Node #0,0: 14:[2, 12] Operation: 9+3=12
Exploring Operation: 9-2=7, Resulting Numbers: [3, 7]
Generated Node #0,1: 14:[3, 7] Operation: 9-2=7
Moving to Node #0,0
Current State: 14:[2, 12], Operations: ['9+3=12']
Exploring Operation: 12-2=10, Resulting Numbers: [10]
10,14 unequal: No Solution
Exploring Operation: 2+12=14, Resulting Numbers: [14]
14,14 equal: Goal Reached
""",
    # the target on the way, with a number left over, is no goal there
    """Current State: 8:[4, 4, 1], Operations: []
Exploring Operation: 4+4=8, Resulting Numbers: [1, 8]
Generated Node #0,0: 8:[1, 8] Operation: 4+4=8
Moving to Node #0,0
Current State: 8:[1, 8], Operations: ['4+4=8']
Exploring Operation: 8-1=7, Resulting Numbers: [7]
7,8 unequal: No Solution
""",
)


@pytest.mark.parametrize(("text", "solved"), list(zip(PUBLISHED, (False, True, False), strict=True)))
def test_texts_in_the_published_form_are_taken(text: str, solved: bool) -> None:
    """Every dead end of three was called wrong."""
    trace = read(text)
    assert trace.wrong == () and trace.solved is solved and all(trace.valid)
    before = re.sub(r"(\d+),(\d+) (un)?equal", r"\2,\1 \3equal", text)
    assert read(before).wrong == () and read(before).solved is solved, "texts that earlier versions wrote"


def test_ours_are_written_as_the_published_ones() -> None:
    text = as_text(explore((5, 5, 3), 12, width=2), 12)
    assert text.startswith("Current State: 12:[3, 5, 5], Operations: []\n")
    assert read(text).wrong == ()
    for line, after in pairwise(text.splitlines()):
        if line.endswith("No Solution"):
            assert after.startswith("Moving to Node #"), "it steps back before it tries anything else"


def test_a_goal_reached_through_a_wrong_step_is_no_goal() -> None:
    text = SHORT.replace("9-4=5", "9-4=4").replace("[6, 5]", "[6, 4]").replace("6*5=30", "6*4=24")
    text = (
        text.replace("[30]", "[24]")
        .replace("30,24 unequal: No Solution", "24,24 equal: Goal Reached")
        .split("Moving to Node #0\n")[0]
    )
    trace = read(text)
    assert not trace.solved and trace.valid == (False, True)


def test_a_trace_with_two_planted_repeats_is_counted() -> None:
    again = "Exploring Operation: 9-4=5, Resulting Numbers: [6, 5]\n"
    invalid = "Exploring Operation: 9*4=35, Resulting Numbers: [6, 35]\n"
    told = wandering(*(lambda t: (t.states, t.valid))(read(SHORT + again + again + invalid)))
    assert (told.steps, told.revisits, told.invalid) == (6, 2, 1)
    assert wandering(read(SHORT).states, read(SHORT).valid).revisits == 0


@pytest.mark.parametrize(
    "text", ["", "Moving to Node #0", f"{SHORT}I give up.", SHORT.replace("24:[4", "24:[x"), "9" * 90]
)
def test_what_is_no_search_is_refused(text: str) -> None:
    with pytest.raises(RecordingError, match=r"no search|not a line of a search"):
        read(text)
