"""Any text, kept verbatim in any database.

PostgreSQL takes no NUL, and no database takes a lone surrogate; both turn up in what models and programs print. They
are escaped on the way in and restored on the way out, the same way for every store. Everything else stays as it is,
so that a person or a full-text index reads the column as written.
"""

from __future__ import annotations

import re

_MARK = "\x1a"
_UNSAFE = re.compile("[\x00\x1a\ud800-\udfff]")
_ESCAPED = re.compile("\x1a([0-9a-f]{1,4});")


def escape(text: str) -> str:
    """The form that a database keeps: NUL, SUB and lone surrogates as SUB, hex digits, semicolon."""
    if text.isascii() and "\x00" not in text and _MARK not in text:
        return text
    return _UNSAFE.sub(lambda match: f"{_MARK}{ord(match[0]):x};", text)


def unescape(text: str) -> str:
    """The text that `escape` was given."""
    if _MARK not in text:
        return text
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
