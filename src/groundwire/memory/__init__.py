"""The ledger and the lessons: `SqlStore` (SQLite or PostgreSQL) and `InMemoryStore` (as long as the process)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.memory._in_memory import InMemoryStore
    from groundwire.memory._sql_store import SqlStore

__all__ = ["InMemoryStore", "SqlStore"]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "InMemoryStore": "_in_memory",
        "SqlStore": "_sql_store",
    },
)
