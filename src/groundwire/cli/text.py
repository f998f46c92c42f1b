"""Text for a terminal; what comes from outside goes through `plain` or `visible` first."""

from __future__ import annotations

from groundwire.printable import plain, visible

__all__ = ["plain", "plural", "tokens", "visible"]


def plural(count: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def tokens(count: int) -> str:
    """`950 tok`, `1.2k tok`."""
    return f"{count} tok" if count < 1000 else f"{count / 1000:.1f}k tok"
