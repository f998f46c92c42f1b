"""Knights and knaves: the rule, an exact solver, a generator, and how it is played."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Self

from groundwire.core._scenes import Scene, Status
from groundwire.tools.environments._world import World
from groundwire.tools.environments.worlds._playing import Playing, Refused

# What islanders say of each other: its words, and whether it is true.

Kinds = Mapping[str, bool]
"""By name, True for a knight."""


def kind(is_knight: bool) -> str:
    """The word for it."""
    return "a knight" if is_knight else "a knave"


@dataclass(frozen=True)
class Kind:
    """That somebody is a knight, or a knave."""

    person: str
    is_knight: bool

    def holds(self, kinds: Kinds) -> bool:
        """True if it is so."""
        return kinds[self.person] == self.is_knight

    def people(self) -> frozenset[str]:
        """Those that it speaks of."""
        return frozenset({self.person})

    def __str__(self) -> str:
        return f"{self.person} is {kind(self.is_knight)}"


@dataclass(frozen=True)
class _Two:
    first: Kind
    second: Kind

    def people(self) -> frozenset[str]:
        """Those that it speaks of."""
        return self.first.people() | self.second.people()


@dataclass(frozen=True)
class Both(_Two):
    """That both are so."""

    def holds(self, kinds: Kinds) -> bool:
        """True if it is so."""
        return self.first.holds(kinds) and self.second.holds(kinds)

    def __str__(self) -> str:
        return f"{self.first} and {self.second}"


@dataclass(frozen=True)
class Either(_Two):
    """That at least one is so."""

    def holds(self, kinds: Kinds) -> bool:
        """True if it is so."""
        return self.first.holds(kinds) or self.second.holds(kinds)

    def __str__(self) -> str:
        return f"{self.first} or {self.second}, or both"


@dataclass(frozen=True)
class If(_Two):
    """That the second is so if the first is; nothing is claimed where it is not."""

    def holds(self, kinds: Kinds) -> bool:
        """True if it is so."""
        return not self.first.holds(kinds) or self.second.holds(kinds)

    def __str__(self) -> str:
        return f"if {self.first}, then {self.second}"


@dataclass(frozen=True)
class Alike:
    """That two are of the same kind."""

    first: str
    second: str

    def holds(self, kinds: Kinds) -> bool:
        """True if it is so."""
        return kinds[self.first] == kinds[self.second]

    def people(self) -> frozenset[str]:
        """Those that it speaks of."""
        return frozenset({self.first, self.second})

    def __str__(self) -> str:
        return f"{self.first} and {self.second} are of the same kind"


Statement = Kind | Both | Either | If | Alike

# Puzzles of knights and knaves: the rule, an exact solver, and a generator.

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


# Playing knights and knaves: one is said to be this or that at a time, or all at once.

CLAIM = re.compile(r"([A-Za-z]+)\s+is\s+(?:an?\s+)?(knight|knave)", re.IGNORECASE)
BETWEEN = re.compile(r"(?:[\s,;.]|\band\b)*", re.IGNORECASE)


@dataclass(frozen=True)
class IslandPosition:
    """Who has been said to be what.

    Args:
        puzzle: the islanders and their words.
        said: those of whom it was said, in the order of the islanders; what was said stays.
    """

    puzzle: Puzzle
    said: tuple[Kind, ...] = ()

    def scene(self) -> Scene:
        """See `Position`."""
        kinds = {one.person: one.is_knight for one in self.said}
        claims = (str(one) for one in self.said)
        lines = [*(f"{name}: {statement}." for name, statement in self.puzzle.statements), ""]
        lines.append(f"You say: {', '.join(claims) or 'nothing yet'}.")
        if found := contradiction(self.puzzle, kinds):
            speaker, statement = found
            did = "lied" if kinds[speaker] else "told the truth"
            lines.append(f"That can't be: {speaker}, {kind(kinds[speaker])}, would have {did}, saying: {statement}.")
            return Scene("\n".join(lines), Status.LOST)
        open_names = [name for name in self.puzzle.people if name not in kinds]
        if not open_names:
            return Scene("\n".join([*lines, "Everybody's words agree with that."]), Status.WON)
        hints = tuple(str(Kind(name, is_knight)) for name in open_names for is_knight in (True, False))
        return Scene("\n".join(lines), Status.RUNNING, hints)

    def after(self, action: str) -> Self:
        """See `Position`."""
        claims = CLAIM.findall(action)
        if not claims or not BETWEEN.fullmatch(CLAIM.sub("", action)):
            example = Kind(self.puzzle.people[0], True)
            raise Refused(f"say who is what, one or several: {example}, and so on.")
        kinds = {one.person: one.is_knight for one in self.said}
        names = {name.casefold(): name for name in self.puzzle.people}
        for written, word in claims:
            name = names.get(written.casefold())
            if name is None:
                raise Refused(f"nobody here is called {written}.")
            if name in kinds:
                raise Refused(f"you have said already that {Kind(name, kinds[name])}.")
            kinds[name] = word.casefold() == "knight"
        return replace(self, said=tuple(Kind(name, kinds[name]) for name in self.puzzle.people if name in kinds))


@lru_cache(maxsize=256)
def begin(seed: int) -> IslandPosition:
    """The first position of a seed; positions never change, so that all may share it."""
    return IslandPosition(generate(random.Random(f"knights-and-knaves/{seed}")))


WORLD = World(
    name="knights-and-knaves",
    make=lambda: Playing(begin),
    prompt=(
        "On this island everybody is either a knight, who only says what is true, or a knave, who only says what is"
        " false. Find out who is what. An action says it of one islander, for example: Ada is a knight. Or of all at"
        " once: Ada is a knight, Bram is a knave. What has been said stays."
    ),
    actions=12,
    about="islanders who always lie or never do; exactly one solution",
)
