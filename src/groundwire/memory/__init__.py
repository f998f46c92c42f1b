"""The ledger and the lessons: `SqlStore` (SQLite or PostgreSQL) and `InMemoryStore` (as long as the process)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.memory.in_memory import InMemoryStore

if TYPE_CHECKING:
    from groundwire.memory.sql_store import SqlStore

__all__ = ["InMemoryStore", "SqlStore"]


def __getattr__(name: str) -> object:
    if name == "SqlStore":
        from groundwire.memory.sql_store import SqlStore

        return SqlStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
