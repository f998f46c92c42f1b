"""Knights and knaves: the solver, the world's verdict and the English words agree."""

from __future__ import annotations

import random
import re
from itertools import product

import pytest

from groundwire.core._scenes import Status
from groundwire.tools.environments.worlds._knights_and_knaves import (
    Both,
    Either,
    If,
    IslandPosition,
    Kind,
    Puzzle,
    begin,
    generate,
    solve,
)
from groundwire.tools.environments.worlds._playing import Refused


def means(sentence: str, kinds: dict[str, bool]) -> bool:
    """What a sentence claims, read from its English alone."""
    if found := re.fullmatch(r"(\w+) and (\w+) are of the same kind", sentence):
        return kinds[found[1]] == kinds[found[2]]
    claims = [kinds[name] == (word == "knight") for name, word in re.findall(r"(\w+) is a (\w+)", sentence)]
    if sentence.startswith("if "):
        assert ", then " in sentence
        return claims[1] if claims[0] else True
    if sentence.endswith(", or both"):
        return any(claims)
    assert len(claims) == 1 or " and " in sentence
    return all(claims)


def claim(kinds: dict[str, bool]) -> str:
    return ", ".join(f"{name} is a {'knight' if is_knight else 'knave'}" for name, is_knight in kinds.items())


def test_hundreds_of_puzzles_have_one_solution_by_solver_world_and_words() -> None:
    forms: set[str] = set()
    for seed in range(200):
        position = begin(seed)
        puzzle = position.puzzle
        forms |= {type(statement).__name__ for _, statement in puzzle.statements}
        said = dict(
            line.removesuffix(".").split(": ", 1) for line in position.scene().text.split("\n\n")[0].split("\n")
        )
        won: list[dict[str, bool]] = []
        for values in product((True, False), repeat=len(puzzle.people)):
            kinds = dict(zip(puzzle.people, values, strict=True))
            by_words = all(means(said[name], kinds) == kinds[name] for name in puzzle.people)
            status = position.after(claim(kinds)).scene().status
            assert status is (Status.WON if by_words else Status.LOST)
            won += [kinds] if by_words else []
        assert won == solve(puzzle) and len(won) == 1
    assert forms == {"Kind", "Both", "Either", "If", "Alike"}


def test_one_at_a_time_the_order_leaves_no_trace_and_a_false_word_is_told_as_soon_as_it_shows() -> None:
    lost_early = 0
    for seed in range(60):
        position = begin(seed)
        (solution,) = solve(position.puzzle)
        actions = [claim({name: is_knight}) for name, is_knight in solution.items()]
        shuffled = random.Random(seed).sample(actions, len(actions))
        halfway = [position, position]
        for one, other in zip(actions[:2], reversed(actions[:2]), strict=True):
            halfway = [halfway[0].after(one), halfway[1].after(other)]
        assert halfway[0].scene() == halfway[1].scene()
        for action in shuffled:
            assert action in position.scene().actions
            position = position.after(action)
        assert position.scene().status is Status.WON
        wrong = begin(seed)
        for name, is_knight in solution.items():
            if wrong.scene().status is Status.RUNNING:
                wrong = wrong.after(claim({name: not is_knight}))
        assert wrong.scene().status is Status.LOST and "That can't be: " in wrong.scene().text
        lost_early += len(wrong.said) < len(solution)
    assert lost_early > 10


def test_why_it_is_lost_names_the_speaker_and_the_words() -> None:
    puzzle = Puzzle((("Ada", Kind("Bram", False)), ("Bram", Both(Kind("Ada", True), Kind("Cleo", True))),
                     ("Cleo", If(Kind("Ada", True), Kind("Bram", True)))))  # fmt: skip
    text = IslandPosition(puzzle).after("ada is knight; BRAM is a knight.").scene().text
    assert text.endswith("That can't be: Ada, a knight, would have lied, saying: Bram is a knave.")
    text = IslandPosition(puzzle).after("Ada is a knave and Bram is a knave").scene().text
    assert text.endswith("That can't be: Ada, a knave, would have told the truth, saying: Bram is a knave.")
    assert str(Either(Kind("Ada", True), Kind("Bram", False))) == "Ada is a knight or Bram is a knave, or both"


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("Zoe is a knight", "nobody here is called Zoe"),
        ("Ada is a knight, Ada is a knave", "you have said already that Ada is a knight"),
        ("Ada is a spy", "say who is what"),
        ("Ada is not a knight", "say who is what"),
        ("either Ada is a knight or Bram is a knight", "say who is what"),
        ("", "say who is what"),
    ],
)
def test_what_says_nothing_of_anybody_is_refused(action: str, why: str) -> None:
    puzzle = Puzzle((("Ada", Kind("Bram", False)), ("Bram", Kind("Ada", True))))
    with pytest.raises(Refused, match=why):
        IslandPosition(puzzle).after(action)


def test_difficulty_is_bounded() -> None:
    sizes = {len(generate(random.Random(seed)).people) for seed in range(60)}
    assert sizes == {3, 4, 5}
