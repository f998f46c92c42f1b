"""Worlds to act in, and the tool that says how it went there."""

from groundwire.tools.environments._tool import EnvironmentTool

__all__ = ["EnvironmentTool"]
