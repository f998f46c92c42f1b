"""Identifiers and the clock: UUIDv7 texts (they sort by time) and UTC timestamps."""

from __future__ import annotations

from datetime import UTC, datetime

import uuid_utils

__all__ = ["new_id", "now"]


def new_id() -> str:
    """A fresh UUIDv7 as text; ids made later sort later."""
    return str(uuid_utils.uuid7())


def now() -> str:
    """The current time, ISO 8601 in UTC with microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
