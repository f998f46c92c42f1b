"""Turns bytes and texts of hostile programs into short, harmless texts."""

from __future__ import annotations

import re

__all__ = ["STREAM_BYTES", "cut_stream", "harmless", "shorten"]

STREAM_BYTES = 8 * 1024
"""Bytes kept of standard output and of standard error each: the head and the tail."""
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def harmless(text: str) -> str:
    """Escapes control characters (terminals obey them) and lone surrogates (UTF-8 and databases refuse them)."""
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def shorten(text: str, limit: int) -> str:
    """Keeps the head and the tail of a text, harmless, at most about `limit` characters."""
    if len(text) > limit:
        head = limit // 3
        text = f"{text[:head]}\n… {len(text) - limit} characters cut …\n{text[head - limit :]}"
    return harmless(text)


def cut_stream(data: bytes, already_cut: int = 0, limit: int = STREAM_BYTES) -> tuple[str, int]:
    """A program's output as text: head and tail, decoded as UTF-8 with what is not UTF-8 escaped.

    Args:
        data: what the sandbox kept.
        already_cut: bytes that the sandbox dropped from its middle.
        limit: bytes to keep.

    Returns:
        The text, and how many bytes of the whole output are not in it.
    """
    if len(data) <= limit and not already_cut:
        return harmless(data.decode("utf-8", "backslashreplace")), 0
    head = min(limit // 3, len(data) // 2)
    tail = min(limit - head, len(data) - head)
    dropped = len(data) - head - tail + already_cut
    first = data[:head].decode("utf-8", "backslashreplace")
    last = data[len(data) - tail :].decode("utf-8", "backslashreplace")
    return f"{harmless(first)}\n… {dropped} bytes cut …\n{harmless(last)}", dropped
