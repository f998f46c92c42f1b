"""A world of materials and tools, with one book of recipes that nobody is shown."""

from groundwire.tools.environments.worlds.crafting.world import WORLD

__all__ = ["WORLD"]
