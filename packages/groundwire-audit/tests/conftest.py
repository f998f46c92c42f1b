"""Shared fixtures."""

from __future__ import annotations

from powerless import open_folder, powerless

__all__ = ["open_folder", "powerless"]
