"""Where in the source something stands."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NOWHERE", "Place"]


@dataclass(frozen=True, order=True)
class Place:
    """A line of a file.

    Args:
        file: path as it was given, with forward slashes; empty: not known.
        line: 1-based; 0: not known.
        cell: 1-based cell of a notebook; 0: not a notebook. `line` then counts within the cell.
    """

    file: str = ""
    line: int = 0
    cell: int = 0

    def __str__(self) -> str:
        cell = f"#cell{self.cell}" if self.cell else ""
        return f"{self.file}{cell}:{self.line}" if self.file else ""


NOWHERE = Place()
