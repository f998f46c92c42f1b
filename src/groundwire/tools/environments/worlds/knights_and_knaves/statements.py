"""What islanders say of each other: its words, and whether it is true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Alike", "Both", "Either", "If", "Kind", "Kinds", "Statement", "kind"]

Kinds = Mapping[str, bool]
"""By name, True for a knight."""


def kind(is_knight: bool) -> str:
    """The word for it."""
    return "a knight" if is_knight else "a knave"


@dataclass(frozen=True)
class Kind:
    """That somebody is a knight, or a knave."""

    person: str
    is_knight: bool

    def holds(self, kinds: Kinds) -> bool:
        """True if it is so."""
        return kinds[self.person] == self.is_knight

    def people(self) -> frozenset[str]:
        """Those that it speaks of."""
        return frozenset({self.person})

    def __str__(self) -> str:
        return f"{self.person} is {kind(self.is_knight)}"


@dataclass(frozen=True)
class _Two:
    first: Kind
    second: Kind

    def people(self) -> frozenset[str]:
        """Those that it speaks of."""
        return self.first.people() | self.second.people()


@dataclass(frozen=True)
class Both(_Two):
    """That both are so."""

    def holds(self, kinds: Kinds) -> bool:
        """True if it is so."""
        return self.first.holds(kinds) and self.second.holds(kinds)

    def __str__(self) -> str:
        return f"{self.first} and {self.second}"


@dataclass(frozen=True)
class Either(_Two):
    """That at least one is so."""

    def holds(self, kinds: Kinds) -> bool:
        """True if it is so."""
        return self.first.holds(kinds) or self.second.holds(kinds)

    def __str__(self) -> str:
        return f"{self.first} or {self.second}, or both"


@dataclass(frozen=True)
class If(_Two):
    """That the second is so if the first is; nothing is claimed where it is not."""

    def holds(self, kinds: Kinds) -> bool:
        """True if it is so."""
        return not self.first.holds(kinds) or self.second.holds(kinds)

    def __str__(self) -> str:
        return f"if {self.first}, then {self.second}"


@dataclass(frozen=True)
class Alike:
    """That two are of the same kind."""

    first: str
    second: str

    def holds(self, kinds: Kinds) -> bool:
        """True if it is so."""
        return kinds[self.first] == kinds[self.second]

    def people(self) -> frozenset[str]:
        """Those that it speaks of."""
        return frozenset({self.first, self.second})

    def __str__(self) -> str:
        return f"{self.first} and {self.second} are of the same kind"


Statement = Kind | Both | Either | If | Alike
