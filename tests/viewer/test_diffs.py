"""Trees and texts side by side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire import Tree
from groundwire.viewer._diffs import CONTEXT, LINE_CHARS, file_diffs, side_by_side

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=30)


@given(LINES, LINES)
def test_both_sides_can_be_read_off(old: list[str], new: list[str]) -> None:
    rows = list(side_by_side(old, new))
    assert all(old[row.old_number - 1] == row.old for row in rows if row.old_number)
    assert all(new[row.new_number - 1] == row.new for row in rows if row.new_number)
    changed = [row for row in rows if row.kind not in ("same", "gap")]
    assert bool(changed) == (old != new)
    if changed:
        told = sum(int(row.old) for row in rows if row.kind == "gap") + sum(bool(row.old_number) for row in rows)
        assert told == len(old)


def test_a_change_stands_among_the_lines_around_it() -> None:
    old = [str(number) for number in range(100)]
    new = [*old[:50], "fifty", *old[51:]]
    rows = list(side_by_side(old, new))
    assert [row.kind for row in rows] == ["gap", *["same"] * CONTEXT, "changed", *["same"] * CONTEXT, "gap"]
    assert rows[0].old == "47" and rows[-1].old == "46"


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ({}, {"a.py": b"x\n"}, "added"),
        ({"a.py": b"x\n"}, {}, "deleted"),
        ({"a.py": b"x\n"}, {"a.py": b"y\n"}, "changed"),
    ],
)
def test_what_became_of_a_file(before: dict[str, bytes], after: dict[str, bytes], what: str) -> None:
    (file,) = file_diffs(Tree({"same.py": b"1", **before}), Tree({"same.py": b"1", **after}))
    assert (file.path, file.what) == ("a.py", what)


def test_a_long_line_says_how_much_of_it_is_not_shown() -> None:
    (row,) = side_by_side(["short"], ["y" * (LINE_CHARS + 7)])
    assert row.old == "short" and row.new == "y" * LINE_CHARS + " … 7 characters more"


def test_what_is_no_text_is_told_by_its_size() -> None:
    (file,) = file_diffs(Tree({"a.bin": b"\xff\xfe"}), Tree({"a.bin": b"\xff\xfe\x00"}))
    assert (file.is_text, file.old_bytes, file.new_bytes, file.rows) == (False, 2, 3, ())
