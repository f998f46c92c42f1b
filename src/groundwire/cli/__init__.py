"""The command line."""

from groundwire.cli.commands import main

__all__ = ["main"]
