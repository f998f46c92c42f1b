"""Two trees side by side, and two texts line by line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groundwire.core._candidates import Tree
from groundwire.core._text import plural

CONTEXT = 3
"""Equal lines that stand around a change."""
MOST_LINES = 4_000
"""Lines of one file that are compared; of a longer one this much of its beginning."""
LINE_CHARS = 500
"""Characters of one line that are shown; how many more it has is said."""


@dataclass(frozen=True)
class DiffRow:
    """A row of two columns.

    Args:
        kind: `same`, `changed`, `added`, `removed`, or `gap` for equal lines that are left out.
        old_number: line on the left, counted from 1; 0 where there is none.
        old: that line, its beginning where it is long, or how many lines a gap leaves out.
        new_number: line on the right; 0 where there is none.
        new: that line.
    """

    kind: str
    old_number: int
    old: str
    new_number: int
    new: str


@dataclass(frozen=True)
class FileDiff:
    """What became of a file.

    Args:
        path: its path.
        what: `added`, `deleted` or `changed`.
        is_text: False where it is not UTF-8, so that only its size is told.
        old_bytes: its size before.
        new_bytes: its size now.
        rows: the lines, side by side.
        added: lines added.
        removed: lines removed.
        is_cut: True where it is too long to be compared whole.
    """

    path: str
    what: str
    is_text: bool
    old_bytes: int
    new_bytes: int
    rows: Sequence[DiffRow]
    added: int
    removed: int
    is_cut: bool


def file_diffs(before: Tree, after: Tree) -> Sequence[FileDiff]:
    """Each file in which two trees differ, by path."""
    paths = sorted(p for p in before.files.keys() | after.files.keys() if before.files.get(p) != after.files.get(p))
    return [_file(path, before.files.get(path), after.files.get(path)) for path in paths]


def _file(path: str, old: bytes | None, new: bytes | None) -> FileDiff:
    what = "added" if old is None else "deleted" if new is None else "changed"
    sizes = len(old or b""), len(new or b"")
    try:
        texts = (old or b"").decode(), (new or b"").decode()
    except UnicodeDecodeError:
        return FileDiff(path, what, False, *sizes, rows=(), added=0, removed=0, is_cut=False)
    lines = [text.splitlines() for text in texts]
    is_cut = any(len(part) > MOST_LINES for part in lines)
    rows = list(side_by_side(lines[0][:MOST_LINES], lines[1][:MOST_LINES]))
    added = sum(row.kind in ("added", "changed") for row in rows)
    removed = sum(row.kind in ("removed", "changed") for row in rows)
    return FileDiff(path, what, True, *sizes, rows=rows, added=added, removed=removed, is_cut=is_cut)


def side_by_side(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffRow]:
    """Rows of two columns: what changed, with a few equal lines around it."""
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    end_before = 0
    for group in matcher.get_grouped_opcodes(CONTEXT):
        if skipped := group[0][1] - end_before:
            yield DiffRow("gap", 0, str(skipped), 0, "")
        for tag, old_start, old_end, new_start, new_end in group:
            for offset in range(max(old_end - old_start, new_end - new_start)):
                left, right = old_start + offset, new_start + offset
                has_left, has_right = left < old_end, right < new_end
                kind = "same" if tag == "equal" else "changed"
                kind = "removed" if not has_right else "added" if not has_left else kind
                yield DiffRow(
                    kind,
                    left + 1 if has_left else 0,
                    _shown(old[left]) if has_left else "",
                    right + 1 if has_right else 0,
                    _shown(new[right]) if has_right else "",
                )
        end_before = group[-1][2]
    if end_before and (rest := len(old) - end_before):
        yield DiffRow("gap", 0, str(rest), 0, "")


def _shown(line: str) -> str:
    more = len(line) - LINE_CHARS
    return line if more <= 0 else f"{line[:LINE_CHARS]} … {plural(more, 'character')} more"
