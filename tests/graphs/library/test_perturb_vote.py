"""perturb_vote: every change is undone exactly, and the vote is over answers to the task as it was (methods row 42)."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from guessing import ANSWER, Check
from hypothesis import given
from hypothesis import strategies as st
from sample_numbers import sample_of
from wide import QUESTION, asked, model, ran

from groundwire import Task, Tree
from groundwire.agents.width._answers import TextAnswer
from groundwire.agents.width._options import options_in
from groundwire.agents.width._perturb_vote import PerturbVote, relabelled_digits, shuffled_options, swapped_lines
from groundwire.core._errors import ConfigError
from groundwire.core._models import Request
from groundwire.graphs.library._perturb_vote import perturb_vote

TEXT = TextAnswer()
SUDOKU = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
SOLVED = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"


def puzzle_of(request: Request) -> str:
    (found,) = re.findall(r"^[1-9.]{81}$", asked(request.messages), re.MULTILINE)
    return found


def solves(puzzle: str) -> str:
    """The grid is known, so its digits' names in this version follow from the givens; 1 is given too."""
    names = {plain: shown for plain, shown in zip(SUDOKU, puzzle, strict=True) if plain != "."}
    assert len(names) == 9 and len(set(names.values())) == 9
    return "".join(names[digit] for digit in SOLVED)


async def test_a_sudoku_in_nine_other_namings_is_solved_undone_and_voted_on() -> None:
    """Five of ten are right and agree; the others are wrong in ways of their own."""
    seen: list[str] = []

    def says(request: Request, _purpose: str) -> str:
        puzzle = puzzle_of(request)
        seen.append(puzzle)
        solved = solves(puzzle)
        number = sample_of(request)
        return f"ANSWER: {solved if number % 2 else solved[number + 1 :] + solved[: number + 1]}"

    task = replace(QUESTION, prompt=SUDOKU)
    backend, check = model(says), Check([SOLVED])
    actor = PerturbVote(backend, TEXT, relabelled_digits)
    got = await ran(perturb_vote(actor, check), check, task=task)
    assert seen[0] == SUDOKU and len(set(seen)) == 10
    assert got.judged == [f"{SOLVED}\n"]
    assert got.candidates[0].note.startswith("vote over 10 versions: 50%")


@given(st.text(), st.integers(0, 10**6))
def test_digits_come_back_exactly(text: str, seed: int) -> None:
    version = relabelled_digits(text, random.Random(seed))
    assert version.undo(version.prompt) == text


CHOICES = "Which is prime?\nA. four\nB. six\nC. seven\nD. nine"


@given(st.integers(0, 10**6))
def test_letters_of_shuffled_options_are_mapped_back(seed: int) -> None:
    version = shuffled_options(CHOICES, random.Random(seed))
    (shown,) = re.findall(r"([A-D])\. seven", version.prompt)
    assert [version.undo(said) for said in (shown, f"({shown})", f"{shown}, surely")] == ["C", "(C)", "C, surely"]
    assert sorted(version.prompt.split()) == sorted(CHOICES.split())
    assert shuffled_options("no options", random.Random(seed)).prompt == "no options"


LISTED = [
    "Which is prime?\n(a) four\n(b) six\n(c) seven", "Which is prime?\nA) four\nB) six\nC) seven",
    "Which is prime?\n- **A.** four\n- **B.** six\n- **C.** seven", "Which is prime?\nA: four\nB: six\nC: seven",
    "Which is prime?\nA - four\nB - six\nC - seven", "Which is prime?\n1. four\n2. six\n3. seven",
    "Which is prime? A) four B) six C) seven", "Which is prime? (A) four, (B) six, or (C) seven",
    "Which is prime?\n[A] four\n[B] six\n[C] seven", "Which is prime?\n  a. four\n  b. six\n  c. seven\n",
    "Which is prime?\ni) four\nii) six\niii) seven", "Which is prime?\n**A** four\n**B** six\n**C** seven",
    "Which is prime?\nA. four   B. six   C. seven",
]  # fmt: skip


@pytest.mark.parametrize("question", LISTED)
def test_options_are_found_in_all_common_forms_and_answers_mapped_back_whatever_their_case(question: str) -> None:
    versions = {shuffled_options(question, random.Random(seed)).prompt for seed in range(40)}
    assert len(versions) == 6, "all orders, the first one included"
    right = options_in(question)[2].label
    for seed in range(6):
        version = shuffled_options(question, random.Random(seed))
        (shown,) = [option.label for option in options_in(version.prompt) if option.text == "seven"]
        said = {f"({shown})": f"({right})", f"{shown}) seven": f"{right}) seven", f"Option {shown}": f"Option {right}"}
        said |= {f"**{shown}**": f"**{right}**", "seven": "seven"}
        assert {text: version.undo(text) for text in said} == said
        assert {version.undo(text) for text in (shown, shown.lower(), shown.upper())} == {right}


def test_options_that_speak_of_others_keep_their_place() -> None:
    question = "Which?\nA. four\nB. six\nC. Both A and B\nD. None of the above"
    for seed in range(10):
        shown = [option.text for option in options_in(shuffled_options(question, random.Random(seed)).prompt)]
        assert shown[2:] == ["Both A and B", "None of the above"] and sorted(shown[:2]) == ["four", "six"]


GRIDS = {
    "in one line": SUDOKU,
    "in rows": "\n".join(SUDOKU[at : at + 9] for at in range(0, 81, 9)),
    "with blanks": "Fill in.\n\n" + "\n".join(" ".join(SUDOKU[at : at + 9]) for at in range(0, 81, 9)) + "\n\nThanks.",
    "with rules": "\n------+------\n".join(
        "\n".join("|".join(SUDOKU[at + c : at + c + 3] for c in (0, 3, 6)) for at in range(band, band + 27, 9))
        for band in (0, 27, 54)
    ),
    "of four": "1.3.\n..1.\n.1..\n3..1",
}


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS.keys())
def test_rows_and_columns_change_places_within_their_bands_and_come_back(grid: str) -> None:
    for seed in range(8):
        version = swapped_lines(grid, random.Random(seed))
        assert version.undo(version.prompt) == grid
        assert sorted(version.prompt) == sorted(grid)
    assert swapped_lines("no grid, 1234 bolts", random.Random(1)).prompt == "no grid, 1234 bolts"


def test_a_solved_sudoku_stays_one_under_swaps() -> None:
    for seed in range(8):
        shown = swapped_lines(SOLVED, random.Random(seed)).prompt
        rows = [shown[at : at + 9] for at in range(0, 81, 9)]
        boxes = ["".join(rows[r + i][c : c + 3] for i in range(3)) for r in (0, 3, 6) for c in (0, 3, 6)]
        columns = ["".join(row[c] for row in rows) for c in range(9)]
        assert {"".join(sorted(line)) for line in (*rows, *boxes, *columns)} == {"123456789"} and shown != SOLVED


async def test_where_nothing_can_be_changed_it_is_warned_of_and_asked_once() -> None:
    backend, check = model(lambda _request, _: "ANSWER: 42"), Check(["42"])
    with pytest.warns(UserWarning, match="sum: nothing was changed"):
        got = await ran(perturb_vote(PerturbVote(backend, TEXT, shuffled_options), check), check)
    assert len(backend.requests) == 1 and got.candidates[0].note.startswith("nothing was changed")


async def test_a_model_that_always_takes_the_first_option_is_found_out() -> None:
    task = Task(id="prime", prompt=CHOICES, tree=Tree({ANSWER: b""}), editable=(ANSWER,))
    biased, check = model(lambda _request, _: "ANSWER: A"), Check(["C"])
    got = await ran(perturb_vote(PerturbVote(biased, TEXT, shuffled_options, versions=7), check), check, task=task)
    assert "100%" not in got.candidates[0].note
    with pytest.raises(ConfigError):
        PerturbVote(biased, TEXT, shuffled_options, versions=0)
