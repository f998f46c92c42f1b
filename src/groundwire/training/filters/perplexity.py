"""Rows that the model to be trained finds likely enough (Shape of Thought, arXiv 2512.22255).

What is near the student's own distribution teaches it, even where the answer is wrong; what is far from it hardly does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from groundwire.core.errors import ConfigError
from groundwire.training.losses import Losses
from groundwire.training.schema import Row

__all__ = ["Perplexity"]


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
            raise ConfigError(f"A perplexity of at most {self.most} can't be asked for.", do="Name one above 1.")
        if not self.losses:
            raise ConfigError("Perplexities need losses.", do="Measure them, and give them with  --losses FILE .")

    def refuses(self, row: Row) -> str:
        """See `Filter`."""
        turns = row.provenance.turns
        if not turns or any(turn not in self.losses for turn in turns):
            return "perplexity_unknown"
        return "perplexity_too_high" if max(self.losses[turn].ppl for turn in turns) > self.most else ""
