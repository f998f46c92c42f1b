"""The answer format of the LLM actor: which files to change and how, read strictly and within bounds.

    FILE: pkg/calc.py
    <<<<<<< SEARCH
    lines as they are
    =======
    lines as they should be
    >>>>>>> REPLACE

Several blocks may follow one FILE line. A FILE line followed at once by a fenced block gives the whole file. The row of
marks may be longer than seven where the text itself holds such rows; all three rows of a block have the same length.
Everything else in the answer is prose and is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from groundwire.core._errors import CandidateError
from groundwire.core._prompt_text import printable, unfence

MAX_ANSWER_CHARS = 400_000
MAX_EDITS = 64

_FILE = re.compile(r"[ \t#*>-]{0,8}FILE:[ \t*]*(.+)")
_SEARCH = re.compile(r"(<{7,}) ?SEARCH\s*")
_FENCE = re.compile(r"(`{3,}|~{3,})[^`]*")


@dataclass(frozen=True)
class SearchReplace:
    """Lines to find in a file, once, and lines to put in their place. An empty `search` makes a new file."""

    path: str
    search: str
    replace: str


@dataclass(frozen=True)
class WholeFile:
    """A file's whole new text."""

    path: str
    text: str


Edit = SearchReplace | WholeFile


def parse_answer(answer: str) -> tuple[Edit, ...]:
    """Reads a model's answer.

    Args:
        answer: anything; line ends may be LF or CRLF.

    Returns:
        At least one edit, in the answer's order. Paths are not checked here.

    Raises:
        CandidateError: no edit, a block that is not closed or is ambiguous, or too much of anything. The text is for
            the model that wrote the answer.
    """
    if len(answer) > MAX_ANSWER_CHARS:
        raise CandidateError(
            f"The answer has {len(answer)} characters; at most {MAX_ANSWER_CHARS} are read.",
            do="Give only the lines that change.",
        )
    edits = _Reader(unfence(answer.replace("\r\n", "\n")).split("\n")).edits()
    if not edits:
        raise CandidateError(
            "The answer holds no edit: no line that begins with FILE: is followed by a block.",
            do="Write a line FILE: path, then a <<<<<<< SEARCH block or the whole file in a fence.",
        )
    return edits


class _Reader:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0

    def edits(self) -> tuple[Edit, ...]:
        found: list[Edit] = []
        path = ""
        just_named = False
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if named := _FILE.fullmatch(line):
                path, just_named = clean_path(named[1]), True
            elif search := _SEARCH.fullmatch(line):
                found.append(self._block(path, len(search[1])))
                just_named = False
            elif just_named and (fence := _FENCE.fullmatch(line)) and not self._decorates(fence[1]):
                found.append(self._whole(path, fence[1]))
                path, just_named = "", False
            elif line.strip() and not _FENCE.fullmatch(line):
                just_named = False
            if len(found) > MAX_EDITS:
                raise CandidateError(f"The answer holds more than {MAX_EDITS} edits.", do="Give fewer, larger ones.")
        return tuple(found)

    def _decorates(self, fence: str) -> bool:
        """True if the fence only goes around blocks; one longer than three holds a file whatever its first line is."""
        following = self._lines[self._at] if self._at < len(self._lines) else ""
        return len(fence) == 3 and bool(_SEARCH.fullmatch(following))

    def _block(self, path: str, row: int) -> SearchReplace:
        began = self._at
        if not path:
            raise CandidateError(
                f"The SEARCH block in line {began} belongs to no file.", do="Write a line FILE: path before it."
            )
        divider = re.compile(rf"={{{row}}}[ \t]*")
        search = self._until(divider, row, path, "=" * row)
        replace = self._until(re.compile(rf">{{{row}}} ?REPLACE\s*"), row, path, ">" * row + " REPLACE")
        if any(divider.fullmatch(line) for line in replace):
            raise CandidateError(
                f"A block for {path} holds more than one row of {row} '='; where the text ends is not clear.",
                do=f"Use rows of {row + 2} marks for all three rows of that block.",
            )
        return SearchReplace(path, _text(search), _text(replace))

    def _until(self, end: re.Pattern[str], row: int, path: str, wanted: str) -> list[str]:
        kept: list[str] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if end.fullmatch(line):
                return kept
            opened = _SEARCH.fullmatch(line)
            if opened and len(opened[1]) == row:
                break
            kept.append(line)
        raise CandidateError(
            f"A block for {path} is not closed: the line {wanted} is missing.",
            do="Close each block; don't cut it short.",
        )

    def _whole(self, path: str, fence: str) -> WholeFile:
        end = re.compile(rf"{re.escape(fence[0])}{{{len(fence)},}}[ \t]*")
        kept: list[str] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if end.fullmatch(line):
                return WholeFile(path, _text(kept))
            kept.append(line)
        raise CandidateError(
            f"The fence with the whole of {path} is not closed.", do="Close it, or give only the lines that change."
        )


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def clean_path(name: str) -> str:
    """A path as models write it, without quotes, marks of emphasis and a leading `./`."""
    return printable(name[:2000].strip().strip("*`'\" \t")).removeprefix("./")


def render_answer(edits: Iterable[Edit]) -> str:
    """Writes edits in the answer format; `parse_answer` reads them back. Every text must end with a line feed or be
    empty, and hold no CRLF."""
    parts: list[str] = []
    for edit in edits:
        parts.append(f"FILE: {edit.path}\n")
        if isinstance(edit, WholeFile):
            fence = "`" * max(4, *(len(run) + 1 for run in re.findall("`+", edit.text)), 4)
            parts.append(f"{fence}\n{edit.text}{fence}\n")
        else:
            rows = re.findall(r"^(?:<+|=+|>+)", edit.search + edit.replace, re.MULTILINE)
            row = max(7, *(len(run) + 1 for run in rows)) if rows else 7
            parts.append(f"{'<' * row} SEARCH\n{edit.search}{'=' * row}\n{edit.replace}{'>' * row} REPLACE\n")
    return "".join(parts)
