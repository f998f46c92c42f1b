"""Questions about a country that does not exist, and passages about it to be searched."""

from groundwire.tools.environments.worlds.fiction_search.world import WORLD

__all__ = ["WORLD"]
