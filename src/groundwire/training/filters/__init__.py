"""What a row must pass to be written, beside what `training.exporting` always asks for; one module each.

    agreement         answers to one question, or to questions with one answer, say the same (arXiv 2309.08589)
    perplexity        the model that is to be trained finds the answer likely enough (arXiv 2512.22255)
    near_duplicates   nothing that was written already says almost the same
    rounds            refuses nothing: by round of self-training, what was right and what was kept

A filter is made before the rows are and sees them one after the other, in their order: the same rows give the same
file. It keeps no texts.
"""

from __future__ import annotations

from typing import Protocol

from groundwire.training._schema import Row

__all__ = ["Filter"]


class Filter(Protocol):
    """Looks at each row that is about to be written."""

    @property
    def note(self) -> str:
        """What whoever exports must be told of rows that passed it; empty where there is nothing."""
        ...

    def refuses(self, row: Row) -> str:
        """Why a row is left out, as a short name; empty where it is written."""
        ...
