"""Full text over a bounded window: which of a few hundred texts speak of what a question speaks of.

SQLite's FTS5 ranks them (BM25, porter stems) in a database in memory that holds nothing else. Over the whole ledger the
same ranking would take a second for common words at a million rows; here its cost is that of the window.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Mapping

__all__ = ["as_fts5", "as_websearch", "rank_texts", "terms_of"]

_TERM = re.compile(r"[^\W_]{2,40}")
MOST_TERMS = 32
"""Different words of a question that count; the first ones, where what failed is named."""
QUESTION_CHARS = 4000
TEXT_CHARS = 4000
"""Of one text, so that a few enormous ones can't make recall slow."""

_own = threading.local()


def terms_of(question: str) -> tuple[str, ...]:
    """The question's different words in their order, in lower case, at most 32."""
    found = dict.fromkeys(_TERM.findall(question[:QUESTION_CHARS].lower()))
    return tuple(found)[:MOST_TERMS]


def as_fts5(terms: tuple[str, ...]) -> str:
    """Any of the terms, in the language of FTS5; each quoted, so none is an operator."""
    return " OR ".join(f'"{term}"' for term in terms)


def as_websearch(terms: tuple[str, ...]) -> str:
    """Any of the terms, for PostgreSQL's `websearch_to_tsquery`, which takes every text."""
    return " or ".join(f'"{term}"' for term in terms)


def rank_texts(texts: Mapping[int, str], terms: tuple[str, ...]) -> list[int]:
    """Keys of the texts that hold a term, best first; ties to the higher key, the newer text.

    Args:
        texts: by number.
        terms: see `terms_of`.
    """
    if not texts or not terms:
        return []
    database = _database()
    database.execute("BEGIN")
    try:
        # ascending: FTS5 writes its index out each time that a rowid is lower than the one before
        rows = ((number, texts[number][:TEXT_CHARS]) for number in sorted(texts))
        database.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", rows)
        query = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts), rowid DESC"
        return [number for (number,) in database.execute(query, (as_fts5(terms),))]
    finally:
        database.execute("ROLLBACK")


def _database() -> sqlite3.Connection:
    """One a thread: always empty outside of a transaction."""
    made: sqlite3.Connection | None = getattr(_own, "database", None)
    if made is None:
        made = sqlite3.connect(":memory:", isolation_level=None)
        made.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='porter unicode61')")
        _own.database = made
    return made
