"""Text from outside, made fit to be shown: no control characters, nothing unseen, no flood."""

from __future__ import annotations

import unicodedata

__all__ = ["plain", "visible"]

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def plain(text: str, *, limit: int = 200) -> str:
    """One line that can't move the cursor, recolour or reorder the terminal.

    Args:
        text: anything, also model or test output.
        limit: characters kept.
    """
    line = " ".join(visible(text[: limit * 4]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def visible(text: str) -> str:
    """`text` with its spacing kept, line ends and tabs as spaces, and everything that can't be seen as a mark."""
    return "".join(" " if c in "\n\r\t" else "�" if unicodedata.category(c) in HIDDEN else c for c in text)
