"""Where in a file a text that is not in it was probably meant to be, for the model that quoted it wrongly."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import accumulate

from groundwire.agents.text import printable

__all__ = ["closest_lines"]

SHOWN_LINES = 12
LINE_CHARS = 200
SCAN_LINES = 20_000
ALIKE_SCAN_LINES = 2000
MAX_TIED = 40
TIE_CHARS = 400
ALIKE = 0.6
"""difflib's ratio from which two lines count as the same one, misquoted."""


def closest_lines(lines: Sequence[str], wanted: Sequence[str]) -> str:
    """A sentence that shows the nearest lines and where they differ first; empty if nothing is near.

    The nearest lines are the window that shares most lines with what was wanted; where none is shared, the line that is
    most like the first one wanted. Takes time linear in the file, since both texts are hostile.
    """
    filled = [i for i, line in enumerate(wanted) if line.strip()]
    if not filled:
        return ""
    wanted = wanted[filled[0] : filled[-1] + 1]
    at = _sharing_most(lines, wanted)
    if at is None:
        at = _most_alike(lines, wanted[0])
    if at is None:
        return ""
    there = lines[at : at + min(len(wanted), SHOWN_LINES)]
    shown = "\n".join(_shown(line) for line in there)
    return f" The closest lines are {at + 1} to {at + len(there)}:\n{shown}{_first_difference(there, wanted, at)}"


def _sharing_most(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    size = len(wanted)
    names = {line.strip() for line in wanted} - {""}
    shared = [line.strip() in names for line in lines[:SCAN_LINES]]
    if size < 2 or not any(shared):
        return None
    below = [0, *accumulate(shared)]
    counts = [below[min(at + size, len(shared))] - below[at] for at in range(max(1, len(shared) - size + 1))]
    most = max(counts)
    best = [at for at, count in enumerate(counts) if count == most][:MAX_TIED]
    quoted = difflib.SequenceMatcher(None, b="\n".join(wanted[:SHOWN_LINES])[:TIE_CHARS], autojunk=False)

    def likeness(at: int) -> float:
        quoted.set_seq1("\n".join(lines[at : at + min(size, SHOWN_LINES)])[:TIE_CHARS])
        return quoted.ratio()

    return max(best, key=lambda at: (likeness(at), -at))


def _most_alike(lines: Sequence[str], first: str) -> int | None:
    scanned = [line.strip()[:LINE_CHARS] for line in lines[:ALIKE_SCAN_LINES]]
    close = difflib.get_close_matches(first.strip()[:LINE_CHARS], scanned, n=1, cutoff=ALIKE)
    return scanned.index(close[0]) if close else None


def _first_difference(there: Sequence[str], wanted: Sequence[str], at: int) -> str:
    for offset, (has, quoted) in enumerate(zip(there, wanted, strict=False)):
        if has.rstrip() != quoted.rstrip():
            return f"\nLine {at + offset + 1} of the file differs from what was quoted:\n{_shown(quoted)}"
    return ""


def _shown(line: str) -> str:
    return printable(line)[:LINE_CHARS]
