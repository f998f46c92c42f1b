"""The commands and their flags; what each does is in the module of `groundwire.cli` that is named as it is."""

from groundwire.cli.commands._app import app, main

__all__ = ["app", "main"]
