"""Sudoku: one solution each, checked for 4x4 against the list of all grids that there are."""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

import pytest

from groundwire.core._scenes import Status
from groundwire.tools.environments._catalogue import world
from groundwire.tools.environments.worlds._playing import Refused
from groundwire.tools.environments.worlds._sudoku import (
    EMPTY,
    Grid,
    SudokuPosition,
    begin,
    place,
    problem,
    solutions,
)


@cache
def all_4x4() -> frozenset[Grid]:
    rows = list(permutations((1, 2, 3, 4)))
    bands = [(a, b) for a, b in product(rows, repeat=2) if len({*a[:2], *b[:2]}) == 4 == len({*a[2:], *b[2:]})]
    found = [
        (*upper[0], *upper[1], *lower[0], *lower[1])
        for upper, lower in product(bands, repeat=2)
        if all(len({*column}) == 4 for column in zip(*upper, *lower, strict=True))
    ]
    return frozenset(found)


def fits(given: Grid, grid: Grid) -> bool:
    return all(digit in (EMPTY, other) for digit, other in zip(given, grid, strict=True))


def steps(position: SudokuPosition, solution: Grid) -> list[str]:
    size = position.size
    return [place(c // size + 1, c % size + 1, solution[c]) for c, digit in enumerate(position.given) if digit == EMPTY]


def test_the_solver_finds_every_4x4_grid_that_there_is_and_no_other() -> None:
    assert len(all_4x4()) == 288, "as published"
    found = list(solutions((EMPTY,) * 16))
    assert len(found) == 288 and set(found) == all_4x4()
    assert all(problem(grid) == "" for grid in found)


def test_hundreds_of_4x4_puzzles_have_exactly_one_solution_and_playing_it_wins() -> None:
    clues: set[int] = set()
    for seed in range(300):
        position = begin(4, seed)
        (solution,) = (grid for grid in all_4x4() if fits(position.given, grid))
        assert list(solutions(position.given)) == [solution]
        clues.add(sum(digit != EMPTY for digit in position.given))
        for action in steps(position, solution):
            assert action in position.scene().actions
            position = position.after(action)
        assert position.scene().status is Status.WON
    assert min(clues) == 6 and max(clues) <= 8, "difficulty is bounded"


def test_9x9_puzzles_have_one_solution_and_their_moves_fit_a_scene() -> None:
    for seed in range(12):
        position = begin(9, seed)
        (solution,) = solutions(position.given)
        assert sum(digit != EMPTY for digit in position.given) == 36
        assert len(position.scene().actions) <= 200
        assert position.after(" ".join(map(str, solution))).scene().status is Status.WON
    assert world("sudoku-9").actions > 81 - 36


def test_a_one_cell_change_to_the_solution_is_never_accepted() -> None:
    for seed in range(40):
        position = begin(4, seed)
        (solution,) = solutions(position.given)
        assert position.after(f"[{list(solution[:8])}, {list(solution[8:])}]").scene().status is Status.WON
        for cell, digit in product(range(16), (1, 2, 3, 4)):
            changed = (*solution[:cell], digit, *solution[cell + 1 :])
            scene = position.after("".join(map(str, changed))).scene()
            assert scene.status is (Status.WON if changed == solution else Status.LOST)
            assert changed == solution or "The grid is wrong: " in scene.text


def test_another_grid_than_the_puzzles_is_wrong_though_every_rule_holds() -> None:
    position = begin(4, 3)
    (solution,) = solutions(position.given)
    other = min(all_4x4() - {solution})
    scene = position.after("".join(map(str, other))).scene()
    assert scene.status is Status.LOST and "is given as" in scene.text
    holes = "".join(map(str, position.given))
    assert "the digits go from 1 to 4" in position.after(holes).scene().text


PUZZLE: Grid = (1, 0, 0, 0,
                0, 0, 3, 0,
                0, 4, 0, 0,
                0, 0, 0, 2)  # fmt: skip


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("place 1,1,2", "row 1, column 1 holds 1 already"),
        ("place 1,4,1", "1 stands at row 1, column 1 already, which row 1, column 4 sees"),
        ("place 1,3,3", "3 stands at row 2, column 3 already"),
        ("place 0,1,2", "go from 1 to 4"),
        ("place 1,2,9", "go from 1 to 4"),
        ("place 1,2", "an action is place 1,2,3"),
        ("1234 1234 1234 123", "or all 16 digits by rows"),
        ("rm -rf 1111 2222 3333 4444", "an action is"),
    ],
)
def test_a_planted_wrong_move_is_refused(action: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        SudokuPosition(PUZZLE, PUZZLE).after(action)


def test_a_cell_that_nothing_fits_any_more_loses_and_is_named() -> None:
    position = SudokuPosition(PUZZLE, PUZZLE)
    assert position.scene().status is Status.RUNNING
    lost = position.after("place 1,2,2").scene()
    assert lost.status is Status.LOST and lost.actions == ()
    assert lost.text == "1 2 . .\n. . 3 .\n. 4 . .\n. . . 2\n\nNo digit fits row 2, column 2 any more."
