"""Columns of equal length, and what is asked of them again and again: the names behind codes, and groups of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bools", "Floats", "Ints", "Labels", "Ragged", "mean_of", "share"]

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of texts, most of them repeated.

    Args:
        codes: by row, the index of its text in `names`.
        names: the distinct texts.
    """

    codes: Ints
    names: Sequence[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """From one text a row; names keep the order in which they first come."""
        index: dict[str, int] = {}
        codes = np.fromiter((index.setdefault(text, len(index)) for text in texts), dtype=np.int32)
        return cls(codes, tuple(index))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str:
        return self.names[int(self.codes[row])]

    @property
    def is_named(self) -> Bools:
        """By row, True where its text is not empty."""
        return self.codes != (self.names.index("") if "" in self.names else -1)

    def take(self, rows: Ints | Bools) -> Self:
        """These rows, with the same names."""
        return type(self)(self.codes[rows], self.names)


@dataclass(frozen=True, eq=False)
class Ragged:
    """A list a row, laid end to end.

    Args:
        starts: by row, where its list begins in the flat columns; one more number than rows, the last is the end.
    """

    starts: Ints

    @classmethod
    def of(cls, lengths: Iterable[int]) -> Self:
        """From the length of each row's list."""
        counted = np.fromiter(lengths, dtype=np.int64)
        return cls(np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counted)]))

    @property
    def lengths(self) -> Ints:
        """By row, how long its list is."""
        return np.diff(self.starts)

    @property
    def rows(self) -> Ints:
        """By flat element, the row that it belongs to."""
        return np.repeat(np.arange(len(self.starts) - 1), self.lengths)

    def take(self, rows: Ints) -> tuple[Self, Ints]:
        """These rows' lists, and the flat elements that they are made of."""
        lengths = self.lengths[rows]
        taken = type(self).of(lengths)
        moved = np.repeat(self.starts[:-1][rows] - taken.starts[:-1], lengths)
        return taken, moved + np.arange(len(moved))


def mean_of(values: Floats | Ints | Bools) -> float | None:
    """The mean; None of nothing."""
    return float(values.mean()) if len(values) else None


def share(part: float, whole: float) -> float | None:
    """`part / whole`; None where there is no whole."""
    return float(part / whole) if whole else None
