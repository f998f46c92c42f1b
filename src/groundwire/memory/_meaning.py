"""Vectors of lessons: how they are kept, and which of a few hundred are nearest to a question's.

float32, little-endian, of length one, so that the dot product of two is the cosine of their angle. They are compared in
this process, over the window that recall looks at anyway, and not by an extension of the database: one way for every
store, which needs nothing that a Python or a server may not be able to load.
"""

from __future__ import annotations

import math
import struct
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from operator import mul

from groundwire.core._errors import ModelReplyInvalid
from groundwire.core._masking import mask
from groundwire.core._models import Embedder

TEXT_CHARS = 4000
"""Of one text, so that a few enormous ones can't make recall slow."""
BATCH = 32
"""Texts that are embedded before what came of them is kept."""
FLOAT_BYTES = 4


class Meanings:
    """An embedder, held to what memory needs of it.

    Args:
        embedder: the model.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.model = f"{embedder.name}@{embedder.revision}"
        self.dimensions = embedder.dimensions

    @property
    def size(self) -> int:
        """Bytes of a vector."""
        return self.dimensions * FLOAT_BYTES

    async def of(self, texts: Sequence[str]) -> list[bytes]:
        """The texts' vectors, as they are kept.

        Raises:
            ModelReplyInvalid: the embedder gave something else than one vector a text.
            ModelError, ConfigError: from the embedder.
        """
        vectors = await self._embedder.embed([text[:TEXT_CHARS] for text in texts])
        if len(vectors) != len(texts):
            raise self._invalid(f"{len(vectors)} vectors for {len(texts)} texts")
        return [self._packed(vector) for vector in vectors]

    async def of_question(self, text: str) -> bytes:
        """The vector of what fails, with secrets masked as they are in lessons; raises as `of` does."""
        (vector,) = await self.of([mask(text)])
        return vector

    async def in_batches(self, texts: Mapping[int, str]) -> AsyncGenerator[dict[int, bytes]]:
        """Vectors by number, some at a time, so that what was done stays done if the rest is given up."""
        numbers = sorted(texts)
        for start in range(0, len(numbers), BATCH):
            batch = numbers[start : start + BATCH]
            yield dict(zip(batch, await self.of([texts[number] for number in batch]), strict=True))

    def _packed(self, vector: Sequence[float]) -> bytes:
        if len(vector) != self.dimensions:
            raise self._invalid(f"a vector of {len(vector)} numbers, not {self.dimensions}")
        length = math.hypot(*vector)
        if not math.isfinite(length) or length == 0.0:
            raise self._invalid("a vector without a direction")
        return struct.pack(f"<{self.dimensions}f", *(value / length for value in vector))

    def _invalid(self, what: str) -> ModelReplyInvalid:
        return ModelReplyInvalid(f"The embedding model {self.model} gave {what}.", do="Use another one, or none.")


def nearest(kept: Iterable[tuple[int, object]], to: bytes) -> list[int]:
    """Numbers of vectors, nearest first; ties to the higher number, the newer lesson.

    Args:
        kept: (number, vector) as read from a store. What is no vector of this length, or holds no numbers, is left out.
        to: the question's vector.
    """
    numbers = f"<{len(to) // FLOAT_BYTES}f"
    wanted = struct.unpack(numbers, to)
    scores: dict[int, float] = {}
    for number, vector in kept:
        if isinstance(vector, bytes) and len(vector) == len(to):
            score = sum(map(mul, struct.unpack(numbers, vector), wanted))
            if math.isfinite(score):
                scores[number] = score
    return sorted(scores, key=lambda number: (-scores[number], -number))
