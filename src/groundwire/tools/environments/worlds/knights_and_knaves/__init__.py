"""Knights and knaves: who always tells the truth, and who always lies?"""

from groundwire.tools.environments.worlds.knights_and_knaves.play import WORLD

__all__ = ["WORLD"]
