"""Worlds with exact checkers that need nothing but Python; each module has its `WORLD`."""
