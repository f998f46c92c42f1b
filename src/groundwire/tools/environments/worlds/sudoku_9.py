"""Sudoku, 9x9."""

from groundwire.tools.environments.worlds.sudoku.play import WORLD_9 as WORLD

__all__ = ["WORLD"]
