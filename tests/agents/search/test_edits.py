"""Applying splices, and what is said about them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groundwire.agents.search._source import Edit, Proposal, Splice, apply, note, overlap, parse_source


def test_splices_in_any_order() -> None:
    assert apply(b"abcdef", [Splice(4, 5, "X"), Splice(1, 2, ""), Splice(6, 6, "!")]) == b"acdXf!"


def test_text_is_utf8() -> None:
    assert apply("é=1".encode(), [Splice(3, 4, "ü")]) == "é=ü".encode()


@given(st.binary(max_size=40), st.data())
def test_all_outside_of_a_splice_is_kept(data: bytes, draw: st.DataObject) -> None:
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, len(data)))
    assert apply(data, [Splice(start, end, "new")]) == data[:start] + b"new" + data[end:]


def test_overlap() -> None:
    assert overlap([Splice(1, 3, "")], [Splice(2, 4, "")])
    assert overlap([Splice(2, 2, "a")], [Splice(2, 2, "b")])
    assert not overlap([Splice(1, 3, "")], [Splice(3, 4, "")])
    assert not overlap([Splice(0, 1, ""), Splice(8, 9, "")], [Splice(3, 4, "")])


def test_note_is_one_line_with_old_and_new() -> None:
    source = parse_source("m.py", b"def f(a):\n    return a < 1\n")
    assert source is not None
    edit = Edit("m.py", Proposal("compare.boundary", (Splice(23, 24, "<="),)), 2, 1.0)
    assert note(source, [edit]) == "m.py:2 < → <="
    gone = Edit("m.py", Proposal("stmt.delete", (Splice(10, 26, ""),)), 2, 1.0)
    assert note(source, [gone]) == "m.py:2 return a < 1 → (nothing)"
    long = Edit("m.py", Proposal("expr.borrow", (Splice(21, 22, "x" * 200),)), 2, 1.0)
    assert len(note(source, [long, long])) < 160
