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
from groundwire.agents.width._perturb_vote import PerturbVote, relabelled_digits, shuffled_options
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
    assert [version.undo(said) for said in (shown, f"({shown})", f"{shown}, surely")] == ["C", "C", "C, surely"]
    assert sorted(version.prompt.split()) == sorted(CHOICES.split())
    assert shuffled_options("no options", random.Random(seed)).prompt == "no options"


async def test_a_model_that_always_takes_the_first_option_is_found_out() -> None:
    task = Task(id="prime", prompt=CHOICES, tree=Tree({ANSWER: b""}), editable=(ANSWER,))
    biased, check = model(lambda _request, _: "ANSWER: A"), Check(["C"])
    got = await ran(perturb_vote(PerturbVote(biased, TEXT, shuffled_options, versions=7), check), check, task=task)
    assert "100%" not in got.candidates[0].note
    with pytest.raises(ConfigError):
        PerturbVote(biased, TEXT, shuffled_options, versions=0)
