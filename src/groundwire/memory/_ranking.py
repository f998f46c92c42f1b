"""The order in which lessons come back, by full text over a bounded window among others.

Four tiers, each before the next: what failed in the same way on the same task, then in its family, then the task's own,
then its family's. A task's own come newest first, as in Reflexion (arXiv 2303.11366). A family's are ranked by
reciprocal-rank fusion (Cormack et al., SIGIR 2009) of how new they are, of their words, their meaning and their frames
against what fails now, and of what they did for trials before. A lesson that no trial has gained from for long sinks,
since its place among the new ones is lost.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from groundwire.core._masking import mask
from groundwire.memory._policy import tokens_of
from groundwire.memory._usefulness import Standing

# Full text over a bounded window: which of a few hundred texts speak of what a question speaks of.
#
# SQLite's FTS5 ranks them (BM25, porter stems) in a database in memory that holds nothing else. Over the whole ledger
# the same ranking would take a second for common words at a million rows; here its cost is that of the window.

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


# The order in which lessons come back.

FUSION = 60
"""Added to each rank before its reciprocal is taken; the value of the paper."""


@dataclass(frozen=True)
class RecallQuery:
    """What is asked of memory; see `groundwire.core._records.Store.recall`."""

    task_id: str
    family: str
    signature: str = ""
    frames: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    text: str = ""
    window: int = 3
    max_tokens: int = 2000

    @classmethod
    def of(
        cls,
        task_id: str,
        family: str,
        signature: str,
        frames: Sequence[str],
        text: str,
        window: int,
        max_tokens: int,
    ) -> Self:
        """The question, its keys masked as they were when they were written."""
        return cls(
            mask(task_id),
            mask(family),
            mask(signature),
            tuple(frames),
            terms_of(text),
            text,
            window,
            max_tokens,
        )

    @property
    def by_meaning(self) -> bool:
        """True where there is something to compare the meaning of."""
        return bool(self.family and self.text.strip())


@dataclass(frozen=True)
class RankedLesson:
    """A lesson that may come back.

    Args:
        number: its place in the ledger.
        id: its id.
        root: the first lesson that says the same.
        task_id: where it was learned.
        text: verbatim.
        fresh: place in the ledger of the last sign that it is worth something.
        frames: where the failure was that caused it.
        standing: what it did for trials.
    """

    number: int
    id: str
    root: str
    task_id: str
    text: str
    fresh: int
    frames: tuple[str, ...] = ()
    standing: Standing = field(default_factory=Standing)


@dataclass(frozen=True)
class Chosen:
    """A lesson that comes back, and why."""

    id: str
    number: int
    why: str


class Chooser:
    """Takes lessons, best first, until the window or the tokens are used up; what says the same is taken once.

    Args:
        question: the window and the tokens.
    """

    def __init__(self, question: RecallQuery) -> None:
        self.chosen: list[Chosen] = []
        self._window = question.window
        self._tokens = float(question.max_tokens)
        self._roots: set[str] = set()

    @property
    def full(self) -> bool:
        """True where no more is wanted."""
        return len(self.chosen) >= self._window

    def offer(self, candidates: Iterable[RankedLesson], why: Callable[[RankedLesson], str]) -> None:
        """Takes those that are new and fit, in their order, until full."""
        for candidate in candidates:
            if self.full:
                return
            tokens = tokens_of(candidate.text)
            if candidate.root in self._roots or tokens > self._tokens:
                continue
            self._roots.add(candidate.root)
            self._tokens -= tokens
            self.chosen.append(Chosen(candidate.id, candidate.number, why(candidate)))


def rank_family(
    candidates: Sequence[RankedLesson], question: RecallQuery, by_words: Sequence[int], by_meaning: Sequence[int]
) -> tuple[list[RankedLesson], Callable[[RankedLesson], str]]:
    """Candidates of one family, best first, and what to say of each.

    Args:
        candidates: in any order.
        question: what is asked.
        by_words: numbers of those that share words with the question, best first.
        by_meaning: numbers of those that have a vector, nearest first.
    """
    lists: dict[str, Mapping[int, int]] = {
        "new": _ranks(candidates, lambda c: c.fresh),
        "words": {number: rank for rank, number in enumerate(by_words, 1)},
        "meaning": {number: rank for rank, number in enumerate(by_meaning, 1)},
    }
    if question.frames:
        lists["frames"] = _ranks((c for c in candidates if _shared(c, question)), lambda c: _shared(c, question))
    if any(c.standing.trials for c in candidates):
        lists["useful"] = _ranks(candidates, lambda c: c.standing.effect)
    scores = fuse(lists.values())
    ordered = sorted(candidates, key=lambda c: (-scores[c.number], -c.fresh, -c.number))

    def why(candidate: RankedLesson) -> str:
        ranks = (f"{name} {ranks[candidate.number]}" for name, ranks in lists.items() if candidate.number in ranks)
        return ", ".join(ranks)

    return ordered, why


def fuse(lists: Iterable[Mapping[int, int]]) -> dict[int, float]:
    """Reciprocal-rank fusion.

    Args:
        lists: number → rank, counted from 1, of each ranking; a number may be missing from some.

    Returns:
        Number → score; higher is better.
    """
    scores: dict[int, float] = {}
    for ranks in lists:
        for number, rank in ranks.items():
            scores[number] = scores.get(number, 0.0) + 1.0 / (FUSION + rank)
    return scores


def _ranks(candidates: Iterable[RankedLesson], worth: Callable[[RankedLesson], float]) -> dict[int, int]:
    """Rank by worth, higher first; equal worth, equal rank."""
    ranks: dict[int, int] = {}
    rank, last = 0, None
    for place, candidate in enumerate(sorted(candidates, key=worth, reverse=True), 1):
        value = worth(candidate)
        if value != last:
            rank, last = place, value
        ranks[candidate.number] = rank
    return ranks


def _shared(candidate: RankedLesson, question: RecallQuery) -> float:
    """Share of the frames that both failures went through."""
    mine, theirs = set(candidate.frames), set(question.frames)
    return len(mine & theirs) / len(mine | theirs) if mine and theirs else 0.0
