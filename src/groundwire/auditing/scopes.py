"""Where names are looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from groundwire.auditing.values import Value

__all__ = ["Lookup", "Scope"]


class Lookup(Protocol):
    """Where names are looked up."""

    def get(self, name: str) -> Value | None:
        """The value under a name, or None."""
        ...

    def put(self, name: str, value: Value) -> None:
        """Binds a name."""
        ...


class Scope:
    """Names of one function, class body or module, and of what encloses it."""

    def __init__(self, outer: Lookup | None = None) -> None:
        self.names: dict[str, Value] = {}
        self.outer = outer

    def get(self, name: str) -> Value | None:
        """See `Lookup`."""
        found = self.names.get(name)
        return self.outer.get(name) if found is None and self.outer is not None else found

    def put(self, name: str, value: Value) -> None:
        """See `Lookup`."""
        self.names[name] = value
