"""Puzzles of knights and knaves: the rule, an exact solver, and a generator."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from groundwire.tools.environments.worlds.knights_and_knaves.statements import (
    Alike,
    Both,
    Either,
    If,
    Kind,
    Kinds,
    Statement,
)

__all__ = ["Puzzle", "contradiction", "generate", "solve"]

NAMES = ("Ada", "Bram", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jill", "Kofi", "Lena")
FEWEST, MOST = 3, 5


@dataclass(frozen=True)
class Puzzle:
    """Islanders and what each says; knights say what is so, knaves what is not.

    Args:
        statements: by speaker, in the order in which they speak; everybody speaks once.
    """

    statements: tuple[tuple[str, Statement], ...]

    @property
    def people(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(name for name, _ in self.statements)


def contradiction(puzzle: Puzzle, kinds: Kinds) -> tuple[str, Statement] | None:
    """The first who can't have said what they said, with the statement.

    Args:
        puzzle: the statements.
        kinds: what each is taken for; those that are missing may be anything, and nothing is concluded about them.
    """
    for speaker, statement in puzzle.statements:
        known = {speaker, *statement.people()} <= kinds.keys()
        if known and statement.holds(kinds) != kinds[speaker]:
            return speaker, statement
    return None


def solve(puzzle: Puzzle) -> list[Mapping[str, bool]]:
    """Every way that contradicts nothing: all 2^n are tried."""
    ways = (dict(zip(puzzle.people, kinds, strict=True)) for kinds in product((True, False), repeat=len(puzzle.people)))
    return [kinds for kinds in ways if contradiction(puzzle, kinds) is None]


def generate(draw: random.Random) -> Puzzle:
    """A puzzle of three to five people with exactly one solution; one draw in a few has it.

    Args:
        draw: every choice.
    """
    while True:
        people = sorted(draw.sample(NAMES, draw.randint(FEWEST, MOST)))
        kinds = {name: draw.random() < 0.5 for name in people}
        puzzle = Puzzle(tuple((name, _said_by(name, people, kinds, draw)) for name in people))
        if solve(puzzle) == [kinds]:
            return puzzle


def _said_by(speaker: str, people: Sequence[str], kinds: Kinds, draw: random.Random) -> Statement:
    """Something that this speaker can say, who is what they are."""
    others = [name for name in people if name != speaker]
    while True:
        one, two = draw.sample(others, 2)
        first, second = Kind(one, draw.random() < 0.5), Kind(two, draw.random() < 0.5)
        forms = (first, Both(first, second), Either(first, second), If(first, second), Alike(one, two))
        statement = draw.choice(forms)
        if statement.holds(kinds) == kinds[speaker]:
            return statement
