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

Models write other forms all the same, and what these say beyond doubt is read: a path alone on the line before a block,
rows with the words of other tools, rows escaped for HTML, and unified diffs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape

from groundwire.core._errors import CandidateError
from groundwire.core._prompt_text import printable, unfence

MAX_ANSWER_CHARS = 400_000
MAX_EDITS = 64

_FILE = re.compile(r"[ \t#*>`-]{0,8}(?:FILE|File|Filename|File path|Path)[*`]{0,3}:[ \t*]*(.+)")
_PATH = re.compile(r"[ \t#*>`-]{0,8}((?:[\w.@+-]{1,100}/){0,20}[\w.@+-]{1,100}\.\w{1,12})[`*:]{0,6}[ \t]*")
"""A path alone on its line."""
_SEARCH = re.compile(r"(?P<indent>[ \t]{0,8})(?P<row><{7,}) ?(?:SEARCH|ORIGINAL)\s*")
_FENCE = re.compile(r"[ \t]{0,8}(`{3,}|~{3,})([^`]*)")
_ESCAPED = re.compile(r"^[ \t]*(?:&lt;){7,} ?SEARCH", re.MULTILINE)


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
    text = unfence(answer.replace("\r\n", "\n"))
    lines = (unescape(text) if _ESCAPED.search(text) else text).split("\n")
    edits = _Reader(lines).edits() or tuple(diff_edits(lines))
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
        path = before = ""
        just_named = False
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if named := _FILE.fullmatch(line):
                path, just_named = clean_path(named[1]), True
            elif search := _SEARCH.fullmatch(line):
                alone = _PATH.fullmatch(before)
                path = clean_path(alone[1]) if alone else path
                found.append(self._block(path, len(search["row"]), search["indent"]))
                just_named = False
            elif just_named and (fence := _FENCE.fullmatch(line)) and not self._decorates(fence[1]):
                whole = self._whole(path, fence[1])
                is_diff = fence[2].strip().lower() in ("diff", "patch")
                found += diff_edits(whole.text.split("\n"), path) if is_diff else (whole,)
                path, just_named = "", False
            elif line.strip() and not _FENCE.fullmatch(line):
                just_named = False
            if line.strip() and not _FENCE.fullmatch(line):
                before = line
            if len(found) > MAX_EDITS:
                raise CandidateError(f"The answer holds more than {MAX_EDITS} edits.", do="Give fewer, larger ones.")
        return tuple(found)

    def _decorates(self, fence: str) -> bool:
        """True if the fence only goes around blocks; one longer than three holds a file whatever its first line is."""
        following = self._lines[self._at] if self._at < len(self._lines) else ""
        return len(fence) == 3 and bool(_SEARCH.fullmatch(following))

    def _block(self, path: str, row: int, indent: str) -> SearchReplace:
        began = self._at
        if not path:
            raise CandidateError(
                f"The SEARCH block in line {began} belongs to no file.", do="Write a line FILE: path before it."
            )
        divider = re.compile(rf"{indent}={{{row}}}[ \t]*")
        closing = re.compile(rf"{indent}>{{{row}}} ?(?:REPLACE|UPDATED)\s*")
        search = self._until(divider, row, path, "=" * row)
        replace = self._until(closing, row, path, ">" * row + " REPLACE")
        if any(divider.fullmatch(line) for line in replace):
            raise CandidateError(
                f"A block for {path} holds more than one row of {row} '='; where the text ends is not clear.",
                do=f"Use rows of {row + 2} marks for all three rows of that block.",
            )
        return SearchReplace(path, _text(search, indent), _text(replace, indent))

    def _until(self, end: re.Pattern[str], row: int, path: str, wanted: str) -> list[str]:
        kept: list[str] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if end.fullmatch(line):
                return kept
            opened = _SEARCH.fullmatch(line)
            if opened and len(opened["row"]) == row:
                break
            kept.append(line)
        raise CandidateError(
            f"A block for {path} is not closed: the line {wanted} is missing.",
            do="Close each block; don't cut it short.",
        )

    def _whole(self, path: str, fence: str) -> WholeFile:
        end = re.compile(rf"[ \t]{{0,8}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*")
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


# Unified diffs: what their hunks say of lines, never what they say of line numbers, which models get wrong.

_OLD = re.compile(r"--- (?P<path>\S[^\t\n]*)(?:\t.*)?")
_NEW = re.compile(r"\+\+\+ (?P<path>\S[^\t\n]*)(?:\t.*)?")
_HUNK = re.compile(r"@@(?: .*)?")


def diff_edits(lines: Sequence[str], path: str = "") -> Iterator[Edit]:
    """The edits of the diffs in a text; none where there is no diff.

    A hunk is found again by its lines, so that wrong numbers do no harm; its context has to be right, and to make it
    the only one. A file that is made is given as a whole.

    Args:
        lines: of the answer, without their ends.
        path: the file, where something before the diff names it; then its headers may be missing.
    """
    at, is_made = 0, False
    if path and not any(_HUNK.fullmatch(line) for line in lines):
        lines = ("@@", *(line for line in lines if not (_OLD.fullmatch(line) or _NEW.fullmatch(line))))
    while at < len(lines):
        if header := _header(lines, at):
            is_made, path = header
            at += 2
        elif path and _HUNK.fullmatch(lines[at]):
            hunk, at = _hunk(lines, at + 1)
            old = "".join(f"{text}\n" for mark, text in hunk if mark != "+")
            new = "".join(f"{text}\n" for mark, text in hunk if mark != "-")
            if old != new:
                yield WholeFile(path, new) if is_made and not old else SearchReplace(path, old, new)
        else:
            at += 1


def _header(lines: Sequence[str], at: int) -> tuple[bool, str] | None:
    """Whether a file is made, and its path, where the two lines that name it stand here."""
    old, new = _OLD.fullmatch(lines[at]), _NEW.fullmatch(lines[at + 1]) if at + 1 < len(lines) else None
    if not (old and new):
        return None
    path = clean_path(new["path"])
    return old["path"].strip() == "/dev/null", path[2:] if path[:2] in ("a/", "b/") else path


def _hunk(lines: Sequence[str], at: int) -> tuple[list[tuple[str, str]], int]:
    """The lines of a hunk, each with its mark, and the place behind it. An empty one is context: models leave out the
    blank that it begins with."""
    kept: list[tuple[str, str]] = []
    while at < len(lines) and (lines[at][:1] in ("", "+", "-", " ", "\\")) and not _header(lines, at):
        line = lines[at]
        if line[:1] != "\\":  # "\ No newline at end of file"
            kept.append((line[:1] or " ", line[1:]))
        at += 1
    while kept and kept[-1] == (" ", ""):
        kept.pop()  # what parts the diff from the prose below
    return kept, at


def _text(lines: Sequence[str], indent: str = "") -> str:
    return "".join(f"{line.removeprefix(indent)}\n" for line in lines)


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
