"""Worlds behind an address, and any world served at one; see docs/environments.md."""

from groundwire.tools.environments.http._client import HttpEnvironment, http_world
from groundwire.tools.environments.http._serving import WorldServer

__all__ = ["HttpEnvironment", "WorldServer", "http_world"]
