"""The version of groundwire, which records, reports and `groundwire --version` name."""

from __future__ import annotations

__version__ = "0.2.0"
