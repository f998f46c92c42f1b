"""The ledger and the lessons: `SqlStore` (SQLite or PostgreSQL) and `InMemoryStore` (as long as the process)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.memory._in_memory import InMemoryStore
    from groundwire.memory._lessons import LessonInfo, Lessons, Recalled
    from groundwire.memory._place import DatabaseLocation, locate
    from groundwire.memory._policy import State, fingerprint, says_the_same
    from groundwire.memory._retention import Size, size_of
    from groundwire.memory._sql_store import SqlStore
    from groundwire.memory._transfer import export_lessons, import_lessons

__all__ = [
    "DatabaseLocation",
    "InMemoryStore",
    "LessonInfo",
    "Lessons",
    "Recalled",
    "Size",
    "SqlStore",
    "State",
    "export_lessons",
    "fingerprint",
    "import_lessons",
    "locate",
    "says_the_same",
    "size_of",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "InMemoryStore": "_in_memory",
        "LessonInfo": "_lessons",
        "Lessons": "_lessons",
        "DatabaseLocation": "_place",
        "Recalled": "_lessons",
        "Size": "_retention",
        "SqlStore": "_sql_store",
        "State": "_policy",
        "export_lessons": "_transfer",
        "fingerprint": "_policy",
        "import_lessons": "_transfer",
        "locate": "_place",
        "says_the_same": "_policy",
        "size_of": "_retention",
    },
)
