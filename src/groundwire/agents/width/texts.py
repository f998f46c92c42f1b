"""What is kept of a model's text between rounds: its final part, without what it thought, within a bound."""

from __future__ import annotations

from html import escape

from groundwire.agents.text import CHARS_PER_TOKEN, head_tail, printable, tagged
from groundwire.thinking import without_thinking

__all__ = ["bounded", "final_part"]

NOTE_CHARS = 60
"""What a note of what was left out takes, and then some."""


def final_part(text: str, tokens: int = 1000) -> str:
    """The last `tokens` tokens of an answer, thinking dropped: GSR's summary of a candidate (arXiv 2509.00084)."""
    said = without_thinking(text).strip()
    return said[-int(tokens * CHARS_PER_TOKEN) :]


def bounded(tag: str, text: str, tokens: int, **attributes: str | int) -> str:
    """Untrusted text between tags of ours, together at most `tokens` long by the stated rule; a middle is left out."""
    frame = len(tagged(tag, "", **attributes))
    room = max(0, int(tokens * CHARS_PER_TOKEN) - frame - NOTE_CHARS)
    return tagged(tag, head_tail(escape(printable(text), quote=False), room), **attributes)
