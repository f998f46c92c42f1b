"""Edits: named replacements of byte spans, and the candidate that a set of them makes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from groundwire.agents.search.source import Source

__all__ = ["Edit", "Proposal", "Splice", "apply", "note", "overlap"]


@dataclass(frozen=True, slots=True)
class Splice:
    """One replaced span: bytes `start` to `end` become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an operator offers at a site.

    Args:
        name: the operator's stable name, `family.kind`.
        splices: the replaced spans, in order, not overlapping.
        weight: how likely it is among what the same operator offers at the same site; 1 for the most likely.
    """

    name: str
    splices: tuple[Splice, ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Edit:
    """A proposal in a file, with its rank.

    Args:
        path: the file.
        proposal: what is replaced.
        line: 1-based line it is blamed on.
        score: larger is tried earlier.
    """

    path: str
    proposal: Proposal
    line: int
    score: float

    @property
    def name(self) -> str:
        """The operator's name."""
        return self.proposal.name


def apply(data: bytes, splices: Iterable[Splice]) -> bytes:
    """The file with spans replaced; everything outside of them keeps its bytes.

    Args:
        data: the file.
        splices: spans that do not overlap, in any order.
    """
    parts: list[bytes] = []
    position = 0
    for splice in sorted(splices, key=lambda s: (s.start, s.end)):
        parts.append(data[position : splice.start])
        parts.append(splice.text.encode())
        position = splice.end
    parts.append(data[position:])
    return b"".join(parts)


def overlap(first: Sequence[Splice], second: Sequence[Splice]) -> bool:
    """True if any span of one meets a span of the other, touching insertions included."""
    return any((a.start < b.end and b.start < a.end) or a.start == b.start for a in first for b in second)


def note(source: Source, edits: Sequence[Edit]) -> str:
    """One line for people: `path:line old → new`, edits joined by a semicolon."""
    return "; ".join(f"{e.path}:{e.line} {_old(source, e)} → {_new(e)}" for e in edits)


def _old(source: Source, edit: Edit) -> str:
    return _short("…".join(source.data[s.start : s.end].decode() for s in edit.proposal.splices)) or "(nothing)"


def _new(edit: Edit) -> str:
    return _short("…".join(s.text for s in edit.proposal.splices)) or "(nothing)"


def _short(text: str, limit: int = 60) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"
