"""A collection of passages that can be searched: BM25, nothing to install, nothing outside this process."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from groundwire.tools.functions import FunctionTool
from groundwire.tools.lexical import terms

__all__ = ["Corpus"]

K1, B = 1.2, 0.75
"""The usual constants of BM25 (Robertson and Zaragoza, 2009)."""
NOTHING = "(nothing was found)"


class Corpus:
    """Passages, ranked by Okapi BM25 over the sets of their words.

    Args:
        passages: texts without empty lines; results keep them apart by one.
    """

    def __init__(self, passages: Iterable[str]) -> None:
        self.passages = tuple(passages)
        self._terms = [terms(passage) for passage in self.passages]
        self._counts = Counter(term for words in self._terms for term in words)
        self._mean = sum(map(len, self._terms)) / max(len(self._terms), 1) or 1.0

    def search(self, query: str, k: int = 3) -> list[str]:
        """The `k` passages that match best, best first; those that share no word with the query are left out."""
        wanted = terms(query)
        scored = [(self._score(wanted, words), -i) for i, words in enumerate(self._terms)]
        best = sorted((pair for pair in scored if pair[0] > 0), reverse=True)[:k]
        return [self.passages[-place] for _, place in best]

    def tool(self, k: int = 3) -> FunctionTool:
        """`search` as a tool; the same query is refused a second time."""

        def search(query: str) -> str:
            """Finds passages about a query of a few words: names and what is asked of them."""
            return "\n\n".join(self.search(query, k)) or NOTHING

        return FunctionTool(search, once=True)

    def _score(self, wanted: frozenset[str], words: frozenset[str]) -> float:
        length = 1 - B + B * len(words) / self._mean
        return sum(self._rarity(term) * (K1 + 1) / (1 + K1 * length) for term in wanted & words)

    def _rarity(self, term: str) -> float:
        found = self._counts[term]
        return math.log(1 + (len(self.passages) - found + 0.5) / (found + 0.5))
