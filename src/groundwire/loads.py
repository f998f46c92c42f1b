"""How busy a model engine of one's own is: what lets a batch run as many episodes as keep it so, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

__all__ = ["Load", "ReportsLoad"]


@dataclass(frozen=True)
class Load:
    """A moment of an engine.

    Args:
        running: samples that are being generated.
        waiting: samples that were sent and wait for their turn.
        capacity: samples that it generates at once at most.
    """

    running: int
    waiting: int
    capacity: int


@runtime_checkable
class ReportsLoad(Protocol):
    """A backend that knows how busy its engine is."""

    def load(self) -> Load:
        """How busy it is now. Cheap: it is asked after every call."""
        ...
