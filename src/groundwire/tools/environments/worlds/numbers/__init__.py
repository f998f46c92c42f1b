"""Puzzles of numbers that are combined to reach a target: Game of 24, Countdown."""

from groundwire.tools.environments.worlds.numbers.combining import COUNTDOWN, GAME24, Combination, Puzzle, Rules, solve

__all__ = ["COUNTDOWN", "GAME24", "Combination", "Puzzle", "Rules", "solve"]
