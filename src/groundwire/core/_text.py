"""Text from outside: read from files within bounds, and made fit to be shown."""

from __future__ import annotations

import gzip
import json
import unicodedata
import zlib
from collections.abc import Collection, Iterator
from contextlib import closing
from difflib import get_close_matches
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from groundwire.core._errors import RecordingError

if TYPE_CHECKING:
    from pydantic import ValidationError

# Text from outside, made fit to be shown: no control characters, nothing unseen, no flood.

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def plain(text: str, *, limit: int = 200) -> str:
    """One line that can't move the cursor, recolour or reorder the terminal.

    Args:
        text: anything, also model or test output.
        limit: characters kept.
    """
    line = " ".join(visible(text[: limit * 4]).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def well_formed(text: str) -> str:
    """`text` with halves of surrogate pairs as U+FFFD: JSON can escape them, and UTF-8 has none."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def plural(count: int, noun: str) -> str:
    """`1 file`, `2 files`, `3 tries`."""
    if count == 1:
        return f"{count} {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{count} {noun}s"


def one_of(name: str, known: Collection[str], *, also: str = "") -> str:
    """What to do about a name that is none of `known`: the nearest of them, else all.

    Args:
        name: as it was given.
        known: in the order in which they are listed.
        also: what else would do (`FILE.py:FUNCTION`).
    """
    lower = {each.casefold(): each for each in known}
    close = [lower[each] for each in get_close_matches(name.casefold(), lower, n=3)]
    if close:
        return f"Did you mean {' or '.join(close)}?"
    return f"Use one of {', '.join([*known, also] if also else known)}."


def first_problem(error: ValidationError) -> str:
    """The first thing that pydantic found wrong, in one line: `tests.files.0: Input should be a valid string.`"""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}." if place else f"{first['msg']}."


def visible(text: str) -> str:
    """`text` with its spacing kept, line ends and tabs as spaces, and everything that can't be seen as a mark."""
    return "".join(" " if c in "\n\r\t" else "�" if unicodedata.category(c) in HIDDEN else c for c in text)


# Reads text files line by line, plain or gzipped, within bounds: the files that recordings and published logs are.

MAX_LINE_BYTES = 16 * 1024 * 1024
GZIP = b"\x1f\x8b"
DAMAGED = "Fetch or copy it again: it is cut short or damaged."


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file, counted from 1, without their ends; one at a time is in memory.

    Args:
        path: plain or gzipped, which its first bytes tell.

    Raises:
        RecordingError: it can't be read, is damaged or cut short, is no UTF-8, or a line is longer than 16 MiB.
    """
    number = 0
    try:
        with closing(_opened(path)) as file:
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise RecordingError(f"{path}:{number}: the line is longer than {MAX_LINE_BYTES >> 20} MiB.")
                yield number, line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise RecordingError(f"{path}:{number}: the line is not UTF-8 text: {error.reason}.", do=DAMAGED) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RecordingError(f"{path} is damaged after line {number}: {error}", do=DAMAGED) from error
    except OSError as error:
        raise RecordingError(
            f"{path} can't be read: {error.strerror or error}.", do="Check the path and its permissions."
        ) from error


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """The objects of a file of JSON lines, with the numbers of their lines; empty lines are passed over.

    Raises:
        RecordingError: as `lines_of`; or a line is no JSON object.
    """
    for number, line in lines_of(path):
        if line.strip():
            value = json_value(line, f"{path}:{number}")
            if not isinstance(value, dict):
                raise RecordingError(f"{path}:{number}: the line is JSON, but no object.", do="Give JSON lines.")
            yield number, cast("dict[str, object]", value)


def json_value(text: str, where: str) -> object:
    """Reads JSON.

    Args:
        text: the JSON.
        where: file and line, for the message.

    Raises:
        RecordingError: it is none.
    """
    try:
        value: object = json.loads(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError:
        raise RecordingError(f"{where}: a text in it is no Unicode: half of a surrogate pair.", do=DAMAGED) from None
    except ValueError as error:
        raise RecordingError(f"{where}: this is not JSON: {error}.", do=DAMAGED) from error
    except RecursionError:
        raise RecordingError(f"{where}: this is nested too deeply.", do=DAMAGED) from None


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        is_gzip = file.read(len(GZIP)) == GZIP
    return cast("IO[bytes]", gzip.open(path, "rb")) if is_gzip else path.open("rb")
