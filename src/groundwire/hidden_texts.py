"""By which strings the text of hidden tests is known, wherever it turns up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from groundwire.trees import Tree

__all__ = ["canaries_in", "telling_lines", "texts_of"]

LEAST_LINE_CHARS = 24
MOST_LINES = 512
"""Lines that are looked for; the longest, since they are the surest."""
MAX_FILE_BYTES = 1024 * 1024
LEAST_CANARY_CHARS = 12
CANARY = re.compile(r"[\w.:-]*canary[\w.:-]*", re.IGNORECASE)
HOLDS_A_VALUE = re.compile(r"""\d|["'].+["']""")
COMMONPLACE = ("import ", "from ", "def ", "async def ", "class ", "@", "if __name__")
"""Lines that begin so say little and are written by everybody."""


def texts_of(tree: Tree) -> Iterator[str]:
    """The text files of a tree; large ones and those that are no text are passed over."""
    for content in tree.files.values():
        if len(content) <= MAX_FILE_BYTES and b"\0" not in content:
            yield content.decode("utf-8", "replace")


def canaries_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Tokens that texts hold so that they can be recognised: whatever contains the word "canary"."""
    found = {word for text in texts for word in CANARY.findall(text) if len(word) >= LEAST_CANARY_CHARS}
    return tuple(sorted(found))


def telling_lines(texts: Iterable[str]) -> list[str]:
    """Lines that hold a value and are long enough to be nobody's coincidence, the longest first."""
    found = {line.strip() for text in texts for line in text.splitlines()}
    telling = (
        line
        for line in found
        if len(line) >= LEAST_LINE_CHARS and HOLDS_A_VALUE.search(line) and not line.startswith(COMMONPLACE)
    )
    return sorted(telling, key=lambda line: (-len(line), line))[:MOST_LINES]
