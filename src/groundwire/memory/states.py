"""What a reflection is to memory, and what a rate is about."""

from __future__ import annotations

from enum import StrEnum

from groundwire.errors import ConfigError

__all__ = ["Scope", "State", "state_named"]


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


def state_named(name: str) -> State | None:
    """The state of that name; None for no name.

    Raises:
        ConfigError: there is none.
    """
    if not name:
        return None
    try:
        return State(name)
    except ValueError:
        raise ConfigError(f"{name!r} is no state.", do=f"One of: {', '.join(State)}.") from None


class Scope(StrEnum):
    """What a rate is about."""

    ALL = "all"
    FAMILY = "family"
    TASK = "task"
    SIGNATURE = "signature"
