"""Playing with numbers: two are made one, or the whole answer is given at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Self

from groundwire.environments import Scene, Status
from groundwire.tools.environments.worlds.numbers.combining import Combination, Numbers, Puzzle, after, combined, moves
from groundwire.tools.environments.worlds.numbers.expressions import (
    SIGNS,
    BadExpression,
    WrongAnswer,
    judge,
    read_expression,
)
from groundwire.tools.environments.worlds.playing import Refused

__all__ = ["NumbersPosition", "beginning_with"]

POSITIONS_KEPT = 256
NUMBER = r"(-?[0-9]{1,12}(?:/[0-9]{1,12})?)"
LEFT = r"\(left:([-0-9/ ,]{0,80})\)"
PAIR = re.compile(rf"\s*{NUMBER}\s*([-+*/])\s*{NUMBER}\s*(?:=\s*{NUMBER}\s*)?(?:{LEFT}\s*)?")
"""`a op b`; a result and what is then left may be claimed behind it, as in the prompts of arXiv 2305.10601."""


@dataclass(frozen=True)
class NumbersPosition:
    """Numbers that are left of a puzzle, or how a whole answer was judged.

    Args:
        puzzle: what is played.
        numbers: those that are left.
        answer: a whole answer that was given; empty: none was.
        wrong: what is wrong with it; empty: nothing.
    """

    puzzle: Puzzle
    numbers: Numbers
    answer: str = ""
    wrong: str = ""

    def scene(self) -> Scene:
        """See `Position`."""
        puzzle = self.puzzle
        use = "using every number once" if puzzle.rules.every else "using each number at most once"
        lines = [f"Make {puzzle.target} of {_listed(puzzle.start)}, {use}.", f"Left: {_listed(self.numbers)}."]
        if self.answer:
            lines.append(f"The answer {self.answer} is {f'wrong: {self.wrong}' if self.wrong else 'right'}.")
            return Scene("\n".join(lines), Status.LOST if self.wrong else Status.WON)
        if puzzle.is_solved(self.numbers):
            return Scene("\n".join([*lines, f"{puzzle.target} is reached."]), Status.WON)
        if len(self.numbers) == 1:
            return Scene("\n".join([*lines, f"That is not {puzzle.target}."]), Status.LOST)
        return Scene("\n".join(lines), Status.RUNNING, tuple(map(str, moves(self.numbers, puzzle.rules))))

    def after(self, action: str) -> Self:
        """See `Position`."""
        text = "".join(SIGNS.get(c, c) for c in action)
        pair = PAIR.fullmatch(text)
        if pair is None:
            return self._answered(action)
        try:
            left, right = Fraction(pair[1]), Fraction(pair[3])
            move = Combination(left, pair[2], right, combined(left, pair[2], right))
            claimed = Fraction(pair[4]) if pair[4] else move.result
        except ZeroDivisionError:
            raise Refused("nothing can be divided by zero.") from None
        self._check(move)
        numbers = after(self.numbers, move)
        if claimed != move.result:
            raise Refused(f"{move} makes {move.result}, and not {claimed}.")
        if pair[5] is not None and sorted(pair[5].replace(",", " ").split()) != sorted(map(str, numbers)):
            raise Refused(f"{move} leaves {_listed(numbers)}, and not {' '.join(pair[5].split())}.")
        return replace(self, numbers=numbers)

    def _check(self, move: Combination) -> None:
        for number, often in ((move.left, 1 + (move.left == move.right)), (move.right, 1)):
            held = self.numbers.count(number)
            if held < often:
                raise Refused(
                    f"there is {f'only one {number}' if held else f'no {number}'} among {_listed(self.numbers)}."
                )
        if problem := self.puzzle.rules.problem(move.result):
            raise Refused(f"{problem}.")

    def _answered(self, action: str) -> Self:
        try:
            expression = read_expression(action)
        except BadExpression as error:
            form = "Combine two numbers that are left (a op b), or give the whole answer as one expression"
            raise Refused(f"{error}. {form} over the numbers of the puzzle.") from None
        answer = " ".join(action.split())
        try:
            judge(expression, self.puzzle)
        except WrongAnswer as error:
            return replace(self, answer=answer, wrong=str(error))
        return replace(self, answer=answer)


def _listed(numbers: Numbers) -> str:
    return ", ".join(map(str, numbers))


def beginning_with(puzzle: Callable[[int], Puzzle]) -> Callable[[int], NumbersPosition]:
    """The first position of each seed; positions never change, so that all may share it.

    Args:
        puzzle: of a seed.
    """

    @lru_cache(maxsize=POSITIONS_KEPT)
    def begin(seed: int) -> NumbersPosition:
        found = puzzle(seed)
        return NumbersPosition(found, found.start)

    return begin
