"""The table of lessons' vectors: written when a lesson is learned, filled in before a recall that would look at it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any

from sqlalchemy import Connection

from groundwire.core._models import Embedder
from groundwire.memory._meaning import Meanings, nearest
from groundwire.memory._policy import RECALL_SCAN
from groundwire.memory._ranking import RecallQuery
from groundwire.memory._recall import OF_FAMILY, OF_SIGNATURE, ByMeaning
from groundwire.memory._sql import Sql
from groundwire.memory._text import unescape
from groundwire.memory._workers import Workers


def _lacking(condition: str) -> Sql:
    """Of the newest lessons that `condition` holds for, those without a sound vector of this model."""
    return Sql(
        'SELECT w.number, r."text" FROM (SELECT l.number FROM lessons l WHERE l.namespace = :namespace'
        f" AND l.state = 'active' AND {condition} ORDER BY l.fresh DESC LIMIT :limit) w"
        " JOIN reflections r ON r.seq = w.number LEFT JOIN lesson_vectors v ON v.number = w.number"
        " AND v.namespace = :namespace AND v.model = :model AND v.dimensions = :dimensions"
        " AND length(v.vector) = :size WHERE v.number IS NULL"
    )


_LACKING_ONE = _lacking("l.id = :id AND l.family <> ''")
_LACKING_SIGNATURE = _lacking(OF_SIGNATURE)
_LACKING_FAMILY = _lacking(OF_FAMILY)
_PUT = (
    "INSERT INTO lesson_vectors (number, model, namespace, dimensions, vector)"
    " SELECT l.number, :model, l.namespace, :dimensions, :vector FROM lessons l"
    " WHERE l.number = :number AND l.namespace = :namespace{lock} ON CONFLICT (number, model) DO UPDATE SET"
    " namespace = excluded.namespace, dimensions = excluded.dimensions, vector = excluded.vector"
)
# locked, so that a lesson that is forgotten meanwhile leaves no vector behind; SQLite has one writer anyway
_KEEP = Sql(_PUT.format(lock=" FOR KEY SHARE"), sqlite=_PUT.format(lock=""))
_VECTORS = "SELECT number, vector FROM lesson_vectors WHERE namespace = :namespace AND model = :model AND number"
_READ = Sql(f"{_VECTORS} = ANY(:numbers)", sqlite=f"{_VECTORS} IN (SELECT value FROM json_each(:numbers))")


class Vectors:
    """Lessons by meaning, for one namespace of a database.

    Args:
        workers: that use the database.
        namespace: whose lessons.
        embedder: the model; vectors that another one made are neither read nor changed.
    """

    def __init__(self, workers: Workers, namespace: str, embedder: Embedder) -> None:
        self._workers = workers
        self._meanings = Meanings(embedder)
        self._fixed: Mapping[str, Any] = {
            "namespace": namespace,
            "model": self._meanings.model,
            "dimensions": self._meanings.dimensions,
        }

    async def learn(self, ids: Sequence[str]) -> None:
        """Has a vector for each of these that may come back to others of its family."""
        await self._fill([(_LACKING_ONE, {"id": lesson_id}) for lesson_id in ids])

    async def ranking(self, question: RecallQuery) -> ByMeaning:
        """What orders lessons by how near they are to the question, all of which have their vectors then.

        Raises:
            ModelError, ConfigError: from the embedder.
            StorageError: from the database.
        """
        place = {"task_id": question.task_id, "family": question.family, "signature": question.signature}
        queries = [_LACKING_SIGNATURE, _LACKING_FAMILY] if question.signature else [_LACKING_FAMILY]
        await self._fill([(query, place) for query in queries])
        asked = await self._meanings.of_question(question.text)

        def by_meaning(session: Connection, numbers: Sequence[int]) -> Sequence[int]:
            wanted: Any = json.dumps(numbers) if session.dialect.name == "sqlite" else list(numbers)
            return nearest(((row[0], row[1]) for row in _READ.rows(session, **self._fixed, numbers=wanted)), asked)

        return by_meaning

    async def _fill(self, queries: Sequence[tuple[Sql, Mapping[str, str]]]) -> None:
        def lacking(session: Connection) -> dict[int, str]:
            fixed = {**self._fixed, "size": self._meanings.size, "limit": RECALL_SCAN}
            rows = (row for query, place in queries for row in query.rows(session, **fixed, **place))
            return {number: unescape(text) for number, text in rows}

        def keep(session: Connection, vectors: Mapping[int, bytes]) -> None:
            for number, vector in vectors.items():
                _KEEP.change(session, **self._fixed, number=number, vector=vector)

        texts = await self._workers.read(lambda database: database.read(lacking))
        async with aclosing(self._meanings.in_batches(texts)) as batches:
            async for vectors in batches:
                await self._workers.write(
                    lambda database, vectors=vectors: database.write(lambda session: keep(session, vectors))
                )
