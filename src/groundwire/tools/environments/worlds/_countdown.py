"""Countdown: reach a target with four numbers, each used at most once, over whole numbers above 0.

The rules of the television game, in the size of Stream of Search (arXiv 2404.03683): four numbers, targets of two
digits. The puzzles are drawn by seed, and need two operations or three.
"""

from __future__ import annotations

import random
from fractions import Fraction

from groundwire.tools.environments._world import World
from groundwire.tools.environments.worlds._numbers import COUNTDOWN, Numbers, Puzzle, after, beginning_with, moves
from groundwire.tools.environments.worlds._playing import Playing

LARGE = (25, 50, 75, 100)
SMALL = 10
COUNT = 4
TARGETS = range(10, 100)
FEWEST = 2


def puzzle(seed: int) -> Puzzle:
    """The puzzle of a seed: at most one large number, and a target that takes two operations or three."""
    draw = random.Random(f"countdown/{seed}")
    while True:
        large = [draw.choice(LARGE)] if draw.random() < 0.5 else []
        numbers = tuple(sorted([*large, *(draw.randint(1, SMALL) for _ in range(COUNT - len(large)))]))
        targets = [value for value, least in sorted(reached(numbers).items()) if least >= FEWEST and value in TARGETS]
        if targets:
            return Puzzle(numbers, draw.choice(targets), COUNTDOWN)


def reached(numbers: tuple[int, ...]) -> dict[int, int]:
    """Every number that can be made, with the fewest operations that make it."""
    places: set[Numbers] = {tuple(sorted(map(Fraction, numbers)))}
    found: dict[int, int] = dict.fromkeys(numbers, 0)
    for count in range(1, len(numbers)):
        steps = [(move, after(place, move)) for place in places for move in moves(place, COUNTDOWN)]
        for move, _ in steps:
            found.setdefault(int(move.result), count)
        places = {place for _, place in steps}
    return found


begin = beginning_with(puzzle)

WORLD = World(
    name="countdown",
    make=lambda: Playing(begin),
    prompt=(
        "Reach the target with + - * /, using each number at most once; every result on the way must be a whole number"
        " above 0. An action takes two of the numbers that are left and puts their result in their place, for example:"
        " 25 - 7. Or give the whole answer as one action, for example: (25 - 7) * 3."
    ),
    actions=10,
    about="four numbers, + - * /, reach the target; whole numbers only",
)
