"""Game of 24 and Countdown: exact arithmetic, checked against searches and evaluators that share no code with it."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._scenes import Status
from groundwire.tools.environments.worlds import _countdown as countdown
from groundwire.tools.environments.worlds import _game24 as game24
from groundwire.tools.environments.worlds._numbers import (
    COUNTDOWN,
    GAME24,
    BadExpression,
    NumbersPosition,
    Puzzle,
    WrongAnswer,
    after,
    judge,
    moves,
    read_expression,
    solve,
    written,
)
from groundwire.tools.environments.worlds._playing import Refused

SHAPES = ("(({0}{4}{1}){5}{2}){6}{3}", "({0}{4}({1}{5}{2})){6}{3}", "({0}{4}{1}){5}({2}{6}{3})",
          "{0}{4}(({1}{5}{2}){6}{3})", "{0}{4}({1}{5}({2}{6}{3}))")  # fmt: skip


def by_python(text: str) -> Fraction | None:
    """The value by Python's own grammar; None where it divides by zero. Only for texts that a test wrote."""

    def value(node: ast.expr) -> Fraction:
        match node:
            case ast.Constant(int() as number):
                return Fraction(number)
            case ast.BinOp(left, ast.Add(), right):
                return value(left) + value(right)
            case ast.BinOp(left, ast.Sub(), right):
                return value(left) - value(right)
            case ast.BinOp(left, ast.Mult(), right):
                return value(left) * value(right)
            case ast.BinOp(left, ast.Div(), right):
                return value(left) / value(right)
            case _:
                raise AssertionError(ast.dump(node))

    try:
        return value(ast.parse(text, mode="eval").body)
    except ZeroDivisionError:
        return None


def all_expressions(numbers: tuple[int, ...]) -> Iterator[str]:
    """Every expression over four numbers that uses each once."""
    for order in sorted(set(permutations(numbers))):
        for operators in product("+-*/", repeat=3):
            for shape in SHAPES:
                yield shape.format(*order, *operators)


def test_the_solver_of_24_finds_what_trying_every_expression_finds() -> None:
    draw = random.Random(5)
    seen: set[bool] = set()
    for numbers in [tuple(draw.randint(1, 13) for _ in range(4)) for _ in range(12)]:
        puzzle = Puzzle(numbers, 24, GAME24)
        steps = solve(puzzle)
        by_trying = any(by_python(text) == 24 for text in all_expressions(numbers))
        assert (steps is not None) == by_trying, numbers
        seen.add(by_trying)
    assert seen == {True, False}


@pytest.mark.parametrize("module", [game24, countdown], ids=["game24", "countdown"])
def test_solver_checker_and_world_agree_on_hundreds_of_puzzles(module: ModuleType) -> None:
    for seed in range(150):
        puzzle = module.puzzle(seed)
        steps = solve(puzzle)
        assert steps is not None and len(steps) >= 2, "every puzzle can be solved, and none by a single step"
        whole = written(puzzle, steps)
        assert judge(read_expression(whole), puzzle) == puzzle.target == by_python(whole)
        assert NumbersPosition(puzzle, puzzle.start).after(f"{whole} = {puzzle.target}").scene().status is Status.WON
        position = module.begin(seed)
        for step in steps:
            assert position.scene().status is Status.RUNNING and str(step) in position.scene().actions
            position = position.after(str(step))
        assert position.scene().status is Status.WON


def test_countdown_is_solved_exactly_where_every_way_of_playing_says_so() -> None:
    draw = random.Random(11)
    for _ in range(20):
        numbers = tuple(draw.randint(1, 10) for _ in range(3))
        reached = countdown.reached(numbers)
        for target in range(1, 60):
            puzzle = Puzzle(numbers, target, COUNTDOWN)
            assert (solve(puzzle) is not None) == (target in reached), (numbers, target)


WRONG = {
    "another value": ("4 * 8 - 5 - 10", "it makes 17, and not 24"),
    "a number twice": ("8 * 8 - 4 * 10", "it uses 8, more often than it is there"),
    "a number from elsewhere": ("(4 * 6)", "it uses 6, which is not there"),
    "a number left out": ("8 + 10 + 5", "it does not use 4"),
    "by zero": ("10 / (8 - 4 - 4)", "uses 4, more often"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_planted_wrong_answer_loses_and_says_why(case: str) -> None:
    answer, why = WRONG[case]
    puzzle = Puzzle((4, 5, 8, 10), 24, GAME24)
    scene = NumbersPosition(puzzle, puzzle.start).after(answer).scene()
    assert scene.status is Status.LOST and why in scene.text and scene.actions == ()


def test_rules_of_the_two_games_differ_where_the_games_do() -> None:
    fractions = "8 / (3 - 8 / 3)"
    assert judge(read_expression(fractions), Puzzle((3, 3, 8, 8), 24, GAME24)) == 24
    with pytest.raises(WrongAnswer, match="8 / 3: the result 8/3 is no whole number above 0"):
        judge(read_expression(fractions), Puzzle((3, 3, 8, 8), 24, COUNTDOWN))
    with pytest.raises(WrongAnswer, match="divides by zero: 8 / 0"):
        judge(read_expression("8 / (3 - 3) + 8"), Puzzle((3, 3, 8, 8), 24, GAME24))
    assert judge(read_expression("3 * 8"), Puzzle((3, 3, 8, 8), 24, COUNTDOWN)) == 24, "numbers may be left over"


def test_a_planted_wrong_move_is_refused_and_changes_nothing() -> None:
    puzzle = Puzzle((3, 3, 8, 8), 24, GAME24)
    start = NumbersPosition(puzzle, puzzle.start)
    planted = {
        "8 / 3 = 3": "8 / 3 makes 8/3, and not 3",
        "8 - 3 = 5 (left: 3 5)": "8 - 3 leaves 3, 5, 8, and not 3 5",
        "7 + 3": "there is no 7 among 3, 3, 8, 8",
        "3 / 0": "divided by zero",
        "three times eight": "'t' is no part of an expression",
        "8 * (3": "a bracket is not closed",
        "": "it ends where a number should be",
    }
    for action, why in planted.items():
        with pytest.raises(Refused) as refused:
            start.after(action)
        assert why in str(refused.value), action
    thirds = start.after("8 / 3 = 8/3 (left: 8/3 3 8)")
    assert thirds == start.after("8/3")
    assert thirds.scene().text.endswith("Left: 8/3, 3, 8.")
    with pytest.raises(Refused, match="there is only one 8 among"):
        thirds.after("8 + 8")
    with pytest.raises(Refused, match="the result -5 is no whole number above 0"):
        NumbersPosition(Puzzle((3, 8, 8), 11, COUNTDOWN), puzzle.start).after("3 - 8")
    won = thirds.after("3 - 8/3").after("8 ÷ 1/3")
    assert won.scene().status is Status.WON, "fractions are held exactly"


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> str:
    if depth == 0 or draw(st.booleans()):
        return str(draw(st.integers(1, 99)))
    left, right = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    text = f"{left} {draw(st.sampled_from('+-*/'))} {right}"
    return f"({text})" if draw(st.booleans()) else text


@given(expressions())
def test_expressions_mean_what_python_means_by_them(text: str) -> None:
    if len(text) > 200:
        return
    value = by_python(text)
    numbers = tuple(int(token) for token in text.translate(str.maketrans("()+-*/", "      ")).split())
    target = int(value) if value is not None and value.denominator == 1 else 1
    puzzle = Puzzle(numbers, target, GAME24)
    expression = read_expression(text)
    if value == target:
        assert judge(expression, puzzle) == target
    else:
        with pytest.raises(WrongAnswer, match=r"divides by zero" if value is None else rf"it makes {value},"):
            judge(expression, puzzle)


@given(st.text(max_size=220) | st.text(alphabet="0123456789+-*/()= x×", max_size=220))
def test_what_nobody_meant_as_an_expression_is_refused_and_never_run(text: str) -> None:
    try:
        read_expression(text)
    except BadExpression as error:
        assert str(error).isprintable()


@pytest.mark.parametrize(
    "text",
    ["(" * 150 + "1" + ")" * 40, "9" * 150, "1+" * 120 + "1", "__import__('os')", "1e9", "2**99", "1 = 2 = 3", "-1"],
)
def test_floods_and_other_languages_are_no_expressions(text: str) -> None:
    with pytest.raises(BadExpression):
        read_expression(text)


def test_all_moves_are_listed_once_and_no_other_is_allowed() -> None:
    numbers = tuple(sorted(map(Fraction, (2, 3, 3, 6))))
    found = [str(move) for move in moves(numbers, COUNTDOWN)]
    assert len(found) == len(set(found)) and {"6 / 3", "6 / 2", "3 + 3", "3 / 3"} <= set(found)
    assert not {"3 - 3", "2 - 3", "3 / 2", "2 + 3"} & set(found), "no result below 1, no fraction, no sum twice"
    assert all(len(after(numbers, move)) == 3 for move in moves(numbers, GAME24))
