"""Nothing from outside reaches the terminal raw."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.cli._text import tokens
from groundwire.core._text import plain, plural


@given(st.text(), st.integers(1, 50))
def test_one_bounded_printable_line(text: str, limit: int) -> None:
    line = plain(text, limit=limit)
    assert len(line) <= limit
    assert line.isprintable() or line == ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\x1b[31mred\x1b[0m", "�[31mred�[0m"),
        ("a\n\tb  c", "a b c"),
        ("left\u202eright", "left�right"),
        ("[bold]x[/bold]", "[bold]x[/bold]"),
    ],
)
def test_escapes_reordering_and_markup_are_inert(text: str, line: str) -> None:
    assert plain(text) == line


def test_counts_read_naturally() -> None:
    assert (plural(1, "file"), plural(2, "file")) == ("1 file", "2 files")
    assert (tokens(950), tokens(1234)) == ("950 tok", "1.2k tok")
