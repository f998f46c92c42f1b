"""Rows that say almost what another has said: MinHash over shingles of words (Broder 1997), by the library rensa.

The first of such rows is kept. A row takes about 1.6 KB of memory, so a million of them fit into 2 GB.
"""

from __future__ import annotations

import re
from typing import Any

from groundwire.errors import ConfigError
from groundwire.training.schema import Row, texts_in

__all__ = ["NearDuplicates", "shingles"]

WORDS = 5
"""Of one shingle."""
PERMUTATIONS = 128
"""The similarity is estimated with a standard error of at most 1 / (2 √128) = 0.044."""
BANDS = 16
"""Of 8 hashes each: rows that are 0.8 alike meet with a probability of 0.95, and of 0.9 with 0.9999."""
SEED = 42
_WORD = re.compile(r"\w+|[^\w\s]")


def shingles(text: str) -> list[str]:
    """Each run of five words or marks of a text, case set aside, once; a shorter text is one."""
    words = _WORD.findall(text.casefold())
    return list(dict.fromkeys(" ".join(words[at : at + WORDS]) for at in range(max(1, len(words) - WORDS + 1))))


class NearDuplicates:
    """Keeps the first of all rows that are alike, the same rows each time.

    What a row holds but for its provenance is compared: question and answers alike.

    Args:
        least: Jaccard similarity of the shingles from which two rows are alike, 0.5 to 1.

    Raises:
        ConfigError: the number is out of range, or rensa is not installed.
    """

    note = ""

    def __init__(self, least: float) -> None:
        if not 0.5 <= least <= 1:
            raise ConfigError(f"Rows can't be called alike from {least} on.", do="Name a similarity of 0.5 to 1.")
        try:
            import rensa
        except ImportError as error:
            raise ConfigError("Near duplicates need rensa.", do='pip install "groundwire[training]"') from error
        self._rensa: Any = rensa  # it has no types
        self._known: Any = self._rensa.RMinHashDeduplicator(least, PERMUTATIONS, True, BANDS, SEED)
        self._count = 0

    def refuses(self, row: Row) -> str:
        """See `Filter`."""
        body = row.model_dump(mode="json", exclude={"provenance", "schema_version"})
        sketch = self._rensa.RMinHash(PERMUTATIONS, SEED)
        sketch.update(shingles("\n".join(text for _, text in texts_in(body, ""))))
        self._count += 1
        return "" if self._known.add(str(self._count), sketch) else "near_duplicate"
