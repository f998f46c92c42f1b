"""Small rooms in which boxes are pushed onto goals."""

from groundwire.tools.environments.worlds.sokoban.world import WORLD

__all__ = ["WORLD"]
