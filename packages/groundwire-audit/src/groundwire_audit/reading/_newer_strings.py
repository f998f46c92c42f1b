"""f-strings as Python writes them since 3.12 (PEP 701), put so that an older one reads them.

What stands in their braces may hold the quotes of the string itself, backslashes and comments there. Each such string
becomes a sum of the expressions in it: `f"a {d["k"]:>9}"` is `("" + str(d["k"]))`, on the same lines.
"""

from __future__ import annotations

import re

START = re.compile(r"(?i)(?<![\w])([rbuft]{0,2})(\"\"\"|'''|\"|')")
CLOSES = {"(": ")", "[": "]", "{": "}"}


class _Unreadable(Exception):
    """A string or a bracket that nothing closes."""


def with_sums(text: str) -> str:
    """The source with each f-string as a sum; as it is where that can't be done."""
    made: list[str] = []
    at, before, depth = 0, "", 0
    try:
        while at < len(text):
            end = _after_token(text, at)
            piece = text[at:end]
            kind = "sum" if _is_f_string(piece) else "string" if START.match(piece) else ""
            if kind and before and "sum" in (kind, before):
                made.append("+ ")  # strings that stand side by side are one
            made.append(_sum(text, at, end) if kind == "sum" else piece)
            depth += (piece in CLOSES) - (piece in CLOSES.values())
            goes_on = piece.startswith("#") or (piece.isspace() and (piece != "\n" or depth > 0)) or piece == "\\"
            before = kind or (before if goes_on else "")
            at = end
    except (_Unreadable, RecursionError):
        return text
    return "".join(made)


def _is_f_string(piece: str) -> bool:
    opening = START.match(piece)
    return opening is not None and "f" in opening[1].lower()


def _after_token(text: str, at: int) -> int:
    """The end of the comment, string or other character that begins here."""
    if text[at] == "#":
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    opening = START.match(text, at)
    if opening is None or (at and (text[at - 1].isalnum() or text[at - 1] == "_")):
        return at + 1
    return _after_string(text, opening)[0]


def _after_string(text: str, opening: re.Match[str]) -> tuple[int, list[tuple[int, int]]]:
    """The end of a string, and the expressions in it."""
    prefix, quote = opening[1].lower(), opening[2]
    at, parts = opening.end(), list[tuple[int, int]]()
    while at < len(text):
        if text.startswith(quote, at):
            return at + len(quote), parts
        if text[at] == "\\" and (at + 1 < len(text)):
            at += 2
        elif text[at] == "\n" and len(quote) == 1:
            raise _Unreadable
        elif "f" in prefix and text[at] in "{}":
            if text.startswith(text[at] * 2, at):
                at += 2
                continue
            stop, end = _after_expression(text, at + 1)
            parts.append((at + 1, stop))
            at = end
        else:
            at += 1
    raise _Unreadable


def _after_expression(text: str, at: int) -> tuple[int, int]:
    """The end of an expression in braces, without its conversion and format; and what comes after the braces."""
    stop, open_ones = 0, list[str]()
    while at < len(text):
        char = text[at]
        if not open_ones and char == "}":
            return stop or at, at + 1
        if char in CLOSES:
            open_ones.append(CLOSES[char])
        elif open_ones and char == open_ones[-1]:
            open_ones.pop()
        elif not open_ones and not stop and _ends_expression(text, at):
            stop = at
        at = at + 1 if stop else _after_token(text, at)
    raise _Unreadable


def _ends_expression(text: str, at: int) -> bool:
    """A format, a conversion or an `=` comes next."""
    if text[at] in ":!":
        return text[at] == ":" or text[at + 1 : at + 2] != "="
    return bool(re.match(r"=\s*[}!:]", text[at : at + 9])) and text[at - 1] not in "=!<>"


def _sum(text: str, start: int, end: int) -> str:
    opening = START.match(text, start)
    assert opening is not None
    _, parts = _after_string(text, opening)
    made, last = '(""', start
    for first, stop in parts:
        made += "\n" * text.count("\n", last, first) + f" + str({with_sums(text[first:stop])})"
        last = stop
    return made + "\n" * text.count("\n", last, end) + ")"
