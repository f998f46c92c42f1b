"""Filters by text: rows that almost repeat another, and rows that the model to be trained finds unlikely.

Near duplicates are told by MinHash over shingles (Broder 1997), by rensa. The first of such rows is kept. What our
prompt files say to every task is set aside, else all questions would be alike. A row takes about 2.5 KB of memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from groundwire.core._errors import ConfigError
from groundwire.training._losses import Losses
from groundwire.training._schema import Row, texts_in

WORDS = 5
"""Of one shingle."""
PERMUTATIONS = 128
"""A similarity is estimated with a standard error of at most 1 / (2 √128) = 0.044."""
BANDS = 16
"""Of 8 hashes each: rows that are 0.8 alike meet with a probability of 0.95, and of 0.9 with 0.9999."""
SEED = 42
PROMPT = "prompt"
_WORD = re.compile(r"\w+|[^\w\s]")


def shingles(text: str) -> list[str]:
    """Each run of five words or marks of a text, case set aside, once; a shorter text is one."""
    words = _WORD.findall(text.casefold())
    return list(dict.fromkeys(" ".join(words[at : at + WORDS]) for at in range(max(1, len(words) - WORDS + 1))))


def asked_and_said(row: Row) -> tuple[str, str]:
    """What a row asks, without what our prompt file says to every task, and what it answers."""
    shown = dict(row.shown())
    parts = [part for part in row.provenance.origins if part.part in shown]
    own = [part for part in parts if part.what != PROMPT]
    asked = [shown[part.part][part.start : part.end] for part in own or parts]
    said = [text for column in sorted(row.answers) for _, text in texts_in(row.model_dump(mode="json").get(column), "")]
    return "\n".join(asked if parts else shown.values()), "\n".join(said)


class NearDuplicates:
    """Keeps the first of all rows that are alike, the same rows each time.

    Two rows are alike where both what they ask and what they answer is.

    Args:
        least: Jaccard similarity of the shingles from which two texts are alike, 0.5 to 1.

    Raises:
        ConfigError: the number is out of range, or rensa is not installed.
    """

    note = ""

    def __init__(self, least: float) -> None:
        if not 0.5 <= least <= 1:
            raise ConfigError(
                f"{least} is not a similarity that makes rows near duplicates.", do="Name a similarity of 0.5 to 1."
            )
        try:
            import rensa
        except ImportError as error:
            raise ConfigError("Near duplicates need rensa.", do='pip install "groundwire[training]"') from error
        self._least = least
        self._rensa: Any = rensa  # it has no types
        # rows that are alike in both halves are so as a whole: that finds the few that must be compared
        self._near: Any = self._rensa.RMinHashLSH(least, PERMUTATIONS, BANDS)
        self._kept: list[tuple[Any, Any]] = []

    def refuses(self, row: Row) -> str:
        """See `Filter`."""
        asked, said = (shingles(text) for text in asked_and_said(row))
        whole = self._sketch([*(f"? {one}" for one in asked), *(f"! {one}" for one in said)])
        halves = self._sketch(asked), self._sketch(said)
        near: list[int] = self._near.query(whole)
        if any(self._alike(halves, self._kept[place]) for place in near):
            return "near_duplicate"
        self._near.insert(len(self._kept), whole)
        self._kept.append(halves)
        return ""

    def _alike(self, one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
        return one[0].jaccard(other[0]) >= self._least and one[1].jaccard(other[1]) >= self._least

    def _sketch(self, tokens: list[str]) -> Any:
        sketch = self._rensa.RMinHash(PERMUTATIONS, SEED)
        sketch.update(tokens)
        return sketch


# Rows that the model to be trained finds likely enough (Shape of Thought, arXiv 2512.22255).
#
# What is near the student's own distribution teaches it, even where the answer is wrong; what is far from it hardly
# does.


@dataclass(frozen=True)
class Perplexity:
    """Keeps rows all of whose answers have at most a perplexity.

    Args:
        most: the perplexity, above 1.
        losses: by `Turn.id`, as measured; a row with an answer that is not among them is left out.

    Raises:
        ConfigError: the number is out of range, or there are no losses.
    """

    most: float
    losses: Mapping[str, Losses]
    note: str = ""

    def __post_init__(self) -> None:
        if not 1 < self.most < float("inf"):
            raise ConfigError(f"A perplexity is never below 1, so none is at most {self.most}.", do="Name one above 1.")
        if not self.losses:
            raise ConfigError("Perplexities need losses.", do="Measure them, and give them with  --losses FILE .")

    def refuses(self, row: Row) -> str:
        """See `Filter`."""
        turns = row.provenance.turns
        if not turns or any(turn not in self.losses for turn in turns):
            return "perplexity_unknown"
        return "perplexity_too_high" if max(self.losses[turn].ppl for turn in turns) > self.most else ""
