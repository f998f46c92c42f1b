"""Gymnasium's environments as worlds; importing this imports no Gymnasium."""

from groundwire.tools.environments.gymnasium._known import End, rule_of
from groundwire.tools.environments.gymnasium._named import GymnasiumEnvironment, gymnasium_world, looks_like_an_id

__all__ = ["End", "GymnasiumEnvironment", "gymnasium_world", "looks_like_an_id", "rule_of"]
