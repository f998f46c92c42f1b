"""Mazes with one locked door and three keys, of which one fits."""

from groundwire.tools.environments.worlds.maze.world import WORLD

__all__ = ["WORLD"]
