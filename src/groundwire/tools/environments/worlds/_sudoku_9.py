"""Sudoku, 9x9."""

from groundwire.tools.environments.worlds._sudoku import WORLD_9

WORLD = WORLD_9
