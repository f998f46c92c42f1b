"""What a reflection is to memory, and what a rate is about."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Scope", "State"]


class State(StrEnum):
    """Whether a reflection is recalled."""

    ACTIVE = "active"
    QUARANTINED = "quarantined"
    REPEAT = "repeat"
    """Says what another lesson of the same task says; linked to it."""
    ECHO = "echo"
    """Says what a lesson said that its own trial had been given; linked to it."""
    UNBACKED = "unbacked"
    """No FAIL of this ledger stands behind it."""


class Scope(StrEnum):
    """What a rate is about."""

    ALL = "all"
    FAMILY = "family"
    TASK = "task"
    SIGNATURE = "signature"
