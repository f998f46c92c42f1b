"""Game of 24: make 24 of four numbers, with every number used once and fractions allowed on the way.

As in Tree of Thoughts (arXiv 2305.10601); the puzzles are drawn by seed, and only those that have a solution are used.
"""

from __future__ import annotations

import random

from groundwire.tools.environments._world import World
from groundwire.tools.environments.worlds._numbers import GAME24, Puzzle, beginning_with, solve
from groundwire.tools.environments.worlds._playing import Playing

HIGHEST = 13
COUNT = 4


def puzzle(seed: int) -> Puzzle:
    """The puzzle of a seed: four numbers from 1 to 13 that make 24; about three draws in four do."""
    draw = random.Random(f"game24/{seed}")
    while True:
        found = Puzzle(tuple(sorted(draw.randint(1, HIGHEST) for _ in range(COUNT))), 24, GAME24)
        if solve(found) is not None:
            return found


begin = beginning_with(puzzle)

WORLD = World(
    name="game24",
    make=lambda: Playing(begin),
    prompt=(
        "Make 24 of the four numbers with + - * /, using every number exactly once. An action takes two of the numbers"
        " that are left and puts their result in their place, for example: 8 / 3. Or give the whole answer as one"
        " action, for example: (10 - 4) * (13 - 9)."
    ),
    actions=10,
    about="four numbers, + - * /, make 24; exact fractions",
)
