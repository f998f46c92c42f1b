"""An embedder for tests: what a text is about, counted over a few groups of words that mean the same."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence

from groundwire.core._errors import ModelRejected

__all__ = ["GROUPS", "Tiny"]

GROUPS = (
    {"bound", "limit", "edge", "exclusive"},
    {"price", "cost", "discount", "cheaper"},
    {"parser", "syntax", "token", "grammar"},
)


class Tiny:
    """Two texts are near where their words are of the same groups, though they share none of them.

    Args:
        revision: another one is another model.
        groups: of words; one number of a vector each, and one more for all other words.
    """

    name = "tiny"

    def __init__(self, revision: str = "1", groups: Sequence[set[str]] = GROUPS) -> None:
        self.revision = revision
        self.dimensions = len(groups) + 1
        self.seen: list[str] = []
        self.broken = False
        self.meanwhile: Callable[[], Awaitable[None]] | None = None
        """Done once, while texts are embedded."""
        self._groups = groups

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self.broken:
            raise ModelRejected("tiny is broken.")
        if self.meanwhile is not None:
            work, self.meanwhile = self.meanwhile, None
            await work()
        self.seen += texts
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        words = re.findall(r"\w+", text.lower())
        return [*(float(sum(word in group for word in words)) for group in self._groups), 0.25]
