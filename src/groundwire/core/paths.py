"""Paths as people write them."""

from __future__ import annotations

from pathlib import Path

__all__ = ["at_home"]


def at_home(path: str | Path) -> Path:
    """The path, with the home that a leading `~` or `~USER` stands for; one of no user is a name like any other."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
