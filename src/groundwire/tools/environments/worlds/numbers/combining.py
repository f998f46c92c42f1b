"""Combining numbers to a target, in exact arithmetic: the rules, all moves, and a solver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

__all__ = [
    "COUNTDOWN",
    "GAME24",
    "Combination",
    "Numbers",
    "Puzzle",
    "Rules",
    "after",
    "combined",
    "moves",
    "solve",
    "written",
]

Numbers = tuple[Fraction, ...]
"""Those that are left, sorted."""
OPERATORS = "+-*/"


@dataclass(frozen=True)
class Rules:
    """What may be done with numbers.

    Args:
        every: every number must be used; else some may be left over.
        natural: every result must be a whole number above 0, as in the television game; else any fraction will do.
    """

    every: bool
    natural: bool

    def problem(self, value: Fraction) -> str:
        """Why a result is not allowed; empty where it is."""
        if self.natural and (value.denominator != 1 or value <= 0):
            return f"the result {value} is no whole number above 0"
        return ""


GAME24 = Rules(every=True, natural=False)
COUNTDOWN = Rules(every=False, natural=True)


@dataclass(frozen=True)
class Puzzle:
    """Numbers and a target.

    Args:
        numbers: each may be used once.
        target: what is to be reached.
        rules: of the game.
    """

    numbers: tuple[int, ...]
    target: int
    rules: Rules

    @property
    def start(self) -> Numbers:
        """The numbers, sorted."""
        return tuple(sorted(map(Fraction, self.numbers)))

    def is_solved(self, numbers: Numbers) -> bool:
        """True if the target is reached, and nothing is left over that had to be used."""
        return numbers == (self.target,) if self.rules.every else self.target in numbers


@dataclass(frozen=True)
class Combination:
    """Two numbers made one: `left operator right = result`."""

    left: Fraction
    operator: str
    right: Fraction
    result: Fraction

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


def combined(left: Fraction, operator: str, right: Fraction) -> Fraction:
    """The result.

    Raises:
        ZeroDivisionError: by zero.
    """
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case _:
            return left / right


def moves(numbers: Numbers, rules: Rules) -> Iterator[Combination]:
    """All that can be done, each once and always in the same order; `a + b` and `b + a` are one."""
    for high, low in dict.fromkeys(combinations(sorted(numbers, reverse=True), 2)):
        for operator in OPERATORS:
            ways = [(high, low)] if operator in "+*" or high == low else [(high, low), (low, high)]
            for left, right in ways:
                if operator == "/" and right == 0:
                    continue
                result = combined(left, operator, right)
                if not rules.problem(result):
                    yield Combination(left, operator, right, result)


def after(numbers: Numbers, move: Combination) -> Numbers:
    """The numbers that are left when a move was made."""
    left = list(numbers)
    left.remove(move.left)
    left.remove(move.right)
    return tuple(sorted([*left, move.result]))


def solve(puzzle: Puzzle, numbers: Numbers | None = None) -> tuple[Combination, ...] | None:
    """The moves that reach the target; None: there is no way.

    Complete: positions that were found to lead nowhere are not entered again, and no other is left out.

    Args:
        puzzle: rules and target.
        numbers: where to begin; None: at the puzzle's start.
    """
    return _solve(puzzle, puzzle.start if numbers is None else numbers, set())


def _solve(puzzle: Puzzle, numbers: Numbers, dead: set[Numbers]) -> tuple[Combination, ...] | None:
    if puzzle.is_solved(numbers):
        return ()
    if numbers in dead:
        return None
    for move in moves(numbers, puzzle.rules):
        rest = _solve(puzzle, after(numbers, move), dead)
        if rest is not None:
            return (move, *rest)
    dead.add(numbers)
    return None


def written(puzzle: Puzzle, steps: Sequence[Combination]) -> str:
    """The steps as one expression over the puzzle's numbers.

    Args:
        puzzle: whose steps.
        steps: at least one; the last one's result is the target.
    """
    held = [(Fraction(number), str(number)) for number in puzzle.numbers]

    def take(value: Fraction) -> str:
        found = next(one for one in reversed(held) if one[0] == value)  # the latest result first
        held.remove(found)
        return found[1]

    for step in steps:
        left, right = take(step.left), take(step.right)
        held.append((step.result, f"({left} {step.operator} {right})"))
    return held[-1][1][1:-1]
