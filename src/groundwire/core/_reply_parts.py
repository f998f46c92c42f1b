"""The parts of a model's text that programs read: fenced blocks, JSON objects, values behind a label.

Models put prose around what was asked for, fence it, leave a fence open, and write JSON as Python or JavaScript would.
What reads an answer reads its parts here, so that no method loses what another one takes. What is cut off is told, and
never completed. All texts are hostile; the cost is linear in them, but for a bounded number of tries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast

# Fenced blocks.

_FENCE = re.compile(r"(?P<indent>[ \t>]*)(?P<mark>`{3,}|~{3,})(?P<name>[^`\n]*)")
MOST_BLOCKS = 256


@dataclass(frozen=True)
class FencedBlock:
    """A fenced block of a text.

    Args:
        name: what stands behind the opening mark, in lower case: `python`.
        text: the lines in it, each with its end; what indents the whole block is taken off.
        is_closed: False where the text ended before it did.
        lines: its first line, which opens it, and the one behind its last, counted from 0.
    """

    name: str
    text: str
    is_closed: bool
    lines: tuple[int, int]


def fenced_blocks(text: str) -> list[FencedBlock]:
    """The fenced blocks of a text, in order, by CommonMark (0.31, section 4.5) and as models break it.

    A block that another one with a name begins in was never closed, unless it holds Markdown.
    """
    found: list[FencedBlock] = []
    opened: re.Match[str] | None = None
    start = 0
    lines = text.replace("\r\n", "\n").split("\n")
    for at, line in enumerate(lines):
        fence = _FENCE.fullmatch(line)
        if fence is None or len(found) >= MOST_BLOCKS:
            continue
        if opened is None:
            opened, start = fence, at
        elif fence["mark"].startswith(opened["mark"]) and not fence["name"].strip():
            found.append(_block(opened, lines, (start, at + 1), is_closed=True))
            opened = None
        elif fence["mark"] == opened["mark"] and opened["name"].strip().lower() not in ("markdown", "md"):
            found.append(_block(opened, lines, (start, at), is_closed=False))
            opened, start = fence, at
    if opened is not None and any(lines[start + 1 :]):
        end = len(lines) if lines[-1] else len(lines) - 1
        found.append(_block(opened, lines, (start, end), is_closed=False))
    return found


def _block(opened: re.Match[str], lines: Sequence[str], span: tuple[int, int], *, is_closed: bool) -> FencedBlock:
    start, end = span
    held = lines[start + 1 : end - 1 if is_closed else end]
    text = "".join(f"{line.removeprefix(opened['indent'])}\n" for line in held)
    return FencedBlock(opened["name"].strip().lower(), text, is_closed, span)


# What only announces what follows.

ANNOUNCEMENT = re.compile(
    r"[ \t*_#>]{0,6}(?:(?:sure|okay|ok|certainly|of course)(?:[,!.][^\n:]{0,80}|[ ][^\n:]{0,80})?(?::|[!.…]{1,3})"
    r"|(?:here(?:[’']s| is| are)|(?:the )?(?:next|remaining|following|corrected|rest of the) )[^\n:]{0,80}(?::|\.{3}|…)"
    r"|(?:continuing|continued|continuation|continue|resuming|going on)(?:[ ][^\n:]{0,60})?(?::|\.{3}|…))[ \t*_]{0,6}",
    re.IGNORECASE,
)
"""A line, or its beginning, that only announces what follows."""

# JSON objects.

MOST_STARTS = 64
"""Opening braces at which an object is looked for; a flood of them is no answer."""
MOST_DEPTH = 64
MOST_LOOSE = 100_000
"""Characters of an object that is not JSON, and is looked into all the same."""


def strict_json(text: str) -> Any:
    """The value of a text that is JSON, in which NaN is none.

    Raises:
        ValueError, RecursionError: it is not.
    """
    return json.loads(text, parse_constant=_refused)


def objects_in(text: str) -> list[Mapping[str, Any]]:
    """The outermost JSON objects in a text, in order; see `_Loose` for what passes for JSON."""
    return [value for _, value in _objects_at(text)]


def json_in(text: str, fits: Callable[[str], bool] = bool) -> str:
    """A text that is to be JSON, without what stands around the one object that it holds, and as JSON is written.

    Args:
        text: as a model wrote it, without what it thought.
        fits: whether a JSON text is of the form that was asked for; others, an echo of the schema, are passed over.

    Returns:
        The text as it is where it is JSON already, or holds no such object, or several that differ.
    """
    try:
        strict_json(text)
    except (ValueError, RecursionError):
        found = {written for value in objects_in(text) if fits(written := _written(value))}
        return found.pop() if len(found) == 1 else text
    return text


def _written(value: object) -> str:
    """A value as JSON; empty for one that was read, and is nested too deeply to be written."""
    try:
        return json.dumps(value)
    except RecursionError:
        return ""


def _objects_at(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    # line breaks in a text are no JSON, and what models write of programs is full of them
    decoder = json.JSONDecoder(strict=False, parse_constant=_refused)
    start = text.find("{")
    for _ in range(MOST_STARTS):
        if start < 0:
            return
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value, end = _loose_object(text, start)
        if value is not None:
            yield start, value
        start = text.find("{", end)


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _loose_object(text: str, start: int) -> tuple[Mapping[str, Any] | None, int]:
    reader = _Loose(text[: start + MOST_LOOSE], start)
    try:
        value = reader.value(0)
    except IndexError:
        # cut off: what is whole within it is no answer by itself
        return None, len(text) if reader.pairs else start + 1
    except ValueError:
        return None, start + 1
    return (cast("dict[str, Any]", value), reader.at) if isinstance(value, dict) and value else (None, start + 1)


_BLANK = re.compile(r"(?:\s|//[^\n]*|\#[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(
    r'"""(?P<long>.*?)"""|"(?P<double>(?:[^"\\]|\\.)*)"|\'(?P<single>(?:[^\'\\]|\\.)*)\'|“(?P<curly>[^”]*)”', re.DOTALL
)
_NUMBER = re.compile(r"[-+]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][-+]?\d{1,3})?")
_WORD = re.compile(r"[A-Za-z_$][\w$-]{0,200}")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|\n|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": "", **{c: c for c in "\"'\\/"}}


class _Loose:
    """Reads one value of JSON with what models take from other languages: single, triple and curly quotes, keys without
    quotes, comments, a comma before the closing bracket, `True`, `None`, a backslash that escapes nothing. Nothing that
    is missing is put in.

    Raises:
        ValueError: it is no such value.
        IndexError: the text ends before it.
    """

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self.at = at
        self.pairs = 0
        """Keys whose values were read."""

    def value(self, depth: int) -> Any:
        """The value that begins here; `at` is then behind it."""
        if depth > MOST_DEPTH:
            raise ValueError("nested too deeply")
        self._skip()
        match self._text[self.at]:
            case "{":
                return dict(self._pairs(depth))
            case "[":
                return list(self._items(depth))
            case "'" | '"' | "“":
                return self._string()
            case _:
                return self._scalar()

    def _skip(self) -> None:
        blank = _BLANK.match(self._text, self.at)
        self.at = blank.end() if blank else self.at

    def _ends(self, closing: str, *, first: bool) -> bool:
        """True at the closing bracket; else a comma is taken, but before the first item."""
        self._skip()
        if not first and self._text[self.at] == ",":
            self.at += 1
            self._skip()
        elif not first and self._text[self.at] != closing:
            raise ValueError("a comma is missing")
        if self._text[self.at] != closing:
            return False
        self.at += 1
        return True

    def _pairs(self, depth: int) -> Iterator[tuple[str, Any]]:
        self.at += 1
        first = True
        while not self._ends("}", first=first):
            first = False
            quoted = self._text[self.at] in "'\"“"
            key = self._string() if quoted else self._word()
            self._skip()
            # in `{width:8}`, which is a place in a format string, no blank follows
            if self._text[self.at] != ":" or not (quoted or self._text[self.at + 1].isspace()):
                raise ValueError("no key")
            self.at += 1
            yield key, self.value(depth + 1)
            self.pairs += 1

    def _items(self, depth: int) -> Iterator[Any]:
        self.at += 1
        first = True
        while not self._ends("]", first=first):
            first = False
            yield self.value(depth + 1)

    def _string(self) -> str:
        found = _STRING.match(self._text, self.at)
        if found is None:
            raise IndexError("a text is not closed")
        self.at = found.end()
        return _ESCAPE.sub(_unescaped, found[found.lastgroup or 0])

    def _word(self) -> str:
        found = _WORD.match(self._text, self.at)
        if found is None:
            raise ValueError("no key")
        self.at = found.end()
        return found[0]

    def _scalar(self) -> Any:
        if number := _NUMBER.match(self._text, self.at):
            self.at = number.end()
            return float(number[0]) if set(number[0]) & set(".eE") else int(number[0])
        return _WORDS[word] if (word := self._word()) in _WORDS else _refused(word)


def _unescaped(found: re.Match[str]) -> str:
    said = found[1]
    if len(said) == 5:
        return chr(int(said[1:], 16))
    return _ESCAPED.get(said, found[0])


# Values behind a label.

_LEAD = r"^[ \t]{0,12}(?:(?:[-+*•>|]|\#{1,6}|\d{1,2}[.)])[ \t]{1,4}){0,2}"
_DRESS = r"[*_`\"'\[]{0,6}"
_BEHIND = re.compile(r"([*_`\"'\]])[.,;|]{1,3}\Z")
MOST_VALUES = 256
MOST_TAGGED = 10_000
"""Characters of a value between tags."""


def labelled(text: str, *names: str) -> list[str]:
    """What a text says under one of these labels, in order.

    Read are `NAME: value` at the beginning of a line, however it is dressed (`- **Name:** value`, `### NAME = value`),
    with the value on the next line, `<name>value</name>`, and a JSON object's field `name`; also in a fence. Emphasis,
    quotes and brackets around a value are taken off.

    Args:
        text: as a model wrote it, without what it thought.
        names: in lower case.
    """
    said = "|".join(map(re.escape, names))
    line = re.compile(
        rf"{_LEAD}{_DRESS}(?:{said})[*_`\"'\]]{{0,6}}[ \t]{{0,4}}[:=：][ \t]*(?P<value>[^\n]*)"
        r"(?:(?:\n[ \t]*(?:(?:`{3,}|~{3,})[^\n]{0,40})?){0,3}\n[ \t]*(?P<below>[^\s`~][^\n]*))?",
        re.IGNORECASE | re.MULTILINE,
    )
    tag = re.compile(rf"<(?:{said})>", re.IGNORECASE)
    found = [(m.start(), m["value"].strip() or m["below"] or "") for m in _first(line, text)]
    for opened in _first(tag, text):
        value, closed, _ = text[opened.end() : opened.end() + MOST_TAGGED].partition("</")
        found += [(opened.start(), value)] if closed else []
    for start, fields in _objects_at(text):
        found += [
            (start, value if isinstance(value, str) else json.dumps(value))
            for key, value in fields.items()
            if key.casefold() in names and isinstance(value, str | int | float)
        ]
    bare = (_BEHIND.sub(r"\1", value.strip()).rstrip(",;|").strip("*_`\"'[] \t") for _, value in sorted(found))
    return [value for value in bare if value]


def _first(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    for count, found in enumerate(pattern.finditer(text)):
        if count >= MOST_VALUES:
            return
        yield found
