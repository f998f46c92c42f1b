"""Sudoku, 9x9."""
