"""The ledger and the lessons: `SqlStore` (SQLite or PostgreSQL) and `InMemoryStore` (as long as the process)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core.first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.memory.in_memory import InMemoryStore
    from groundwire.memory.sql_store import SqlStore

__all__ = ["InMemoryStore", "SqlStore"]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "InMemoryStore": "in_memory",
        "SqlStore": "sql_store",
    },
)
