"""A ledger full of lessons for benchmarks: words, some common and most rare, over tasks, families and failures.

A million lessons through `append` would take half an hour, so the rows are written in bulk, as `append` and `derive`
would leave them.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from groundwire.core import ReflectionRecord, new_id
from groundwire.memory import SqlStore, fingerprint
from groundwire.memory._mapping import CODECS
from groundwire.memory._statements import inserts_for

__all__ = ["COMMON", "FAMILIES", "LESSONS_A_TASK", "SIGNATURES", "Words", "fill", "lesson"]

FAMILIES = 50
LESSONS_A_TASK = 10
SIGNATURES = tuple(f"{error}Error: kind {n}" for error in ("Assertion", "Key", "Index", "Value") for n in range(2))
COMMON = ("the", "bound", "value", "returns", "test")
BATCH = 5000
WORDS_A_LESSON = 45


class Words:
    """Text whose words are as unevenly frequent as those of a language (Zipf), from 20,000 of them.

    Args:
        seed: the same seed, the same texts.
    """

    def __init__(self, seed: int = 5) -> None:
        self.random = random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        made = {"".join(self.random.choices(letters, k=self.random.randrange(4, 10))) for _ in range(20_000)}
        self._words = [*COMMON, *sorted(made)]
        self._weights = list(itertools.accumulate(1.0 / rank for rank in range(1, len(self._words) + 1)))

    def text(self, count: int = WORDS_A_LESSON) -> str:
        """So many words."""
        return " ".join(self.random.choices(self._words, cum_weights=self._weights, k=count))


def lesson(number: int, words: Words) -> ReflectionRecord:
    """The lesson of this number: ten of a task, tasks over all families in turn."""
    task = number // LESSONS_A_TASK
    return ReflectionRecord(
        episode_id=new_id(),
        trial=1,
        signal_id=new_id(),
        candidate_digest=new_id(),
        task_id=f"task {task}",
        family=f"family {task % FAMILIES}",
        text=words.text(),
        by="critic",
        model="scripted",
        signature=words.random.choice(SIGNATURES),
        frames=(f"module_{words.random.randrange(30)}.py:call", "shop/price.py:total"),
    )


async def fill(store: SqlStore, have: int, want: int, words: Words) -> None:
    """Writes lessons from number `have` to `want`."""
    for start in range(have, want, BATCH):
        found = [lesson(number, words) for number in range(start, min(start + BATCH, want))]
        await store.run_write(lambda session, found=found: _write(session, store.namespace, found))


def _write(session: Connection, namespace: str, found: Sequence[ReflectionRecord]) -> None:
    inserts, codec = inserts_for(session.dialect), CODECS[ReflectionRecord]
    numbers = inserts.number(session, len(found))
    inserts.insert(
        session, ReflectionRecord, [(n, *codec.encode(r), namespace) for n, r in zip(numbers, found, strict=True)]
    )
    rows: list[tuple[Any, ...]] = [
        (n, r.id, namespace, r.task_id, r.family, r.signature, "active", r.id, fingerprint(r.text), n, 0, 0, 0.0)
        for n, r in zip(numbers, found, strict=True)
    ]
    columns = "number, id, namespace, task_id, family, signature, state, root, fingerprint, fresh, trials, passed"
    mark = "?" if inserts.is_sqlite else "%s"
    statement = f"INSERT INTO lessons ({columns}, expected) VALUES ({', '.join([mark] * 13)})"
    if inserts.is_sqlite:
        session.connection.cursor().executemany(statement, rows)
    else:
        session.exec_driver_sql(statement, rows)
