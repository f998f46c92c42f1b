"""Numbers combined to a target: the rules and a solver, expressions read without being run, and how it is played."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Self

from groundwire.core._scene import Scene, Status
from groundwire.tools.environments.worlds._playing import Refused

# Combining numbers to a target, in exact arithmetic: the rules, all moves, and a solver.

Numbers = tuple[Fraction, ...]
"""Those that are left, sorted."""
OPERATORS = "+-*/"


@dataclass(frozen=True)
class NumbersRules:
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


GAME24 = NumbersRules(every=True, natural=False)
COUNTDOWN = NumbersRules(every=False, natural=True)


@dataclass(frozen=True)
class NumbersPuzzle:
    """Numbers and a target.

    Args:
        numbers: each may be used once.
        target: what is to be reached.
        rules: of the game.
    """

    numbers: tuple[int, ...]
    target: int
    rules: NumbersRules

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


def moves(numbers: Numbers, rules: NumbersRules) -> Iterator[Combination]:
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


def solve(puzzle: NumbersPuzzle, numbers: Numbers | None = None) -> tuple[Combination, ...] | None:
    """The moves that reach the target; None: there is no way.

    Complete: positions that were found to lead nowhere are not entered again, and no other is left out.

    Args:
        puzzle: rules and target.
        numbers: where to begin; None: at the puzzle's start.
    """
    return _solve(puzzle, puzzle.start if numbers is None else numbers, set())


def _solve(puzzle: NumbersPuzzle, numbers: Numbers, dead: set[Numbers]) -> tuple[Combination, ...] | None:
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


def written(puzzle: NumbersPuzzle, steps: Sequence[Combination]) -> str:
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


# Arithmetic expressions that somebody wrote, read without being run: four operators, whole numbers, brackets.

MAX_CHARS = 200
MAX_DIGITS = 6
MAX_DEPTH = 20
TOKEN = re.compile(r"\s*(?:([0-9]+)|(.))", re.DOTALL)
SIGNS = {"×": "*", "x": "*", "X": "*", "·": "*", "÷": "/", "−": "-", "[": "(", "]": ")"}
"""What people write, and what it stands for."""


class BadExpression(ValueError):
    """It is no expression that can be read; the message says where it stops being one."""


class WrongAnswer(ValueError):
    """It can be read, and does not solve the puzzle; the message says why."""


@dataclass(frozen=True)
class Number:
    """A number as it stands."""

    value: int


@dataclass(frozen=True)
class BinaryExpression:
    """Two expressions and an operator."""

    left: Expression
    operator: str
    right: Expression


Expression = Number | BinaryExpression


def read_expression(text: str) -> Expression:
    """Reads an expression; `=` and a number may stand behind it, and are not believed.

    Args:
        text: from anybody.

    Raises:
        BadExpression: it is none, or is longer than 200 characters, has a number of more than 6 digits, or brackets
            more than 20 deep.
    """
    if len(text) > MAX_CHARS:
        raise BadExpression(f"an expression has at most {MAX_CHARS} characters")
    body, _, claimed = text.partition("=")
    if claimed and not re.fullmatch(r"\s*[0-9]{1,6}\s*", claimed):
        raise BadExpression("behind = stands one number")
    return _Reader(_tokens(body)).whole()


def judge(expression: Expression, puzzle: NumbersPuzzle) -> Fraction:
    """The value of an expression that solves a puzzle.

    Raises:
        WrongAnswer: it does not: other numbers, a step that the rules forbid, or another value.
    """
    _check_numbers(sorted(_numbers(expression)), puzzle)
    value = _value(expression, puzzle.rules)
    if value != puzzle.target:
        raise WrongAnswer(f"it makes {value}, and not {puzzle.target}")
    return value


def _check_numbers(used: Sequence[int], puzzle: NumbersPuzzle) -> None:
    left = list(puzzle.numbers)
    for number in used:
        if number not in left:
            often = "more often than it is there" if number in puzzle.numbers else "which is not there"
            raise WrongAnswer(f"it uses {number}, {often}")
        left.remove(number)
    if left and puzzle.rules.every:
        raise WrongAnswer(f"it does not use {left[0]}, and every number has to be used")


def _numbers(expression: Expression) -> list[int]:
    if isinstance(expression, Number):
        return [expression.value]
    return [*_numbers(expression.left), *_numbers(expression.right)]


def _value(expression: Expression, rules: NumbersRules) -> Fraction:
    if isinstance(expression, Number):
        return Fraction(expression.value)
    left, right = _value(expression.left, rules), _value(expression.right, rules)
    shown = f"{left} {expression.operator} {right}"
    if expression.operator == "/" and right == 0:
        raise WrongAnswer(f"it divides by zero: {shown}")
    value = combined(left, expression.operator, right)
    if problem := rules.problem(value):
        raise WrongAnswer(f"{shown}: {problem}")
    return value


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    for match in TOKEN.finditer(text.strip()):
        digits, sign = match.groups()
        if digits and len(digits) > MAX_DIGITS:
            raise BadExpression(f"a number has at most {MAX_DIGITS} digits")
        token = digits or SIGNS.get(sign, sign)
        if not digits and token not in "+-*/()":
            raise BadExpression(f"{token!a} is no part of an expression")
        found.append(token)
    return found


@dataclass
class _Reader:
    """Recursive descent: a sum of products of numbers and brackets."""

    tokens: list[str]
    at: int = 0
    depth: int = 0

    def whole(self) -> Expression:
        expression = self._sum()
        if self.at < len(self.tokens):
            raise BadExpression(f"{self.tokens[self.at]} stands where an operator should")
        return expression

    def _sum(self) -> Expression:
        return self._row(("+", "-"), self._product)

    def _product(self) -> Expression:
        return self._row(("*", "/"), self._atom)

    def _row(self, operators: tuple[str, str], part: Callable[[], Expression]) -> Expression:
        left = part()
        while self._next() in operators:
            left = BinaryExpression(left, self._take(), part())
        return left

    def _atom(self) -> Expression:
        token = self._take()
        if token.isdigit():
            return Number(int(token))
        if token != "(":
            raise BadExpression(
                f"{token} stands where a number should" if token else "it ends where a number should be"
            )
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise BadExpression(f"brackets go at most {MAX_DEPTH} deep")
        inside = self._sum()
        if self._take() != ")":
            raise BadExpression("a bracket is not closed")
        self.depth -= 1
        return inside

    def _next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self) -> str:
        token = self._next()
        self.at += 1
        return token


# Playing with numbers: two are made one, or the whole answer is given at once.

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

    puzzle: NumbersPuzzle
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


def beginning_with(puzzle: Callable[[int], NumbersPuzzle]) -> Callable[[int], NumbersPosition]:
    """The first position of each seed; positions never change, so that all may share it.

    Args:
        puzzle: of a seed.
    """

    @lru_cache(maxsize=POSITIONS_KEPT)
    def begin(seed: int) -> NumbersPosition:
        found = puzzle(seed)
        return NumbersPosition(found, found.start)

    return begin
