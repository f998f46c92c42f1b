"""Sudoku, 4x4; `sudoku_9` is the larger one."""

from groundwire.tools.environments.worlds.sudoku.play import WORLD

__all__ = ["WORLD"]
