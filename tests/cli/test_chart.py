"""The chart in a terminal keeps to its width, and shows each value in its row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groundwire.cli._learning_view import ROWS, chart_lines

SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=300)


@given(SHARES, SHARES, st.integers(30, 300), st.booleans())
def test_it_keeps_to_its_width_and_to_ascii(a: list[float], b: list[float], width: int, plain: bool) -> None:
    lines = chart_lines({"with": a, "without": b}, x="episode", width=width, plain=plain)
    assert len(lines) == ROWS + 3 and all(len(line) <= width for line in lines)
    assert all(line.isascii() for line in lines) or not plain
    marks = "#" if plain else "━"
    assert any(marks in line for line in lines[:ROWS])


def test_values_stand_in_their_rows_and_a_shorter_series_ends_earlier() -> None:
    lines = chart_lines({"up": [0.0, 1.0], "half": [0.5]}, x="trial", width=46, plain=True)
    top, middle, bottom = lines[0], lines[ROWS // 2], lines[ROWS - 1]
    assert top == f"100% |{' ' * 20}{'#' * 20}" and bottom == f"  0% |{'#' * 20}"
    assert middle == f" 50% |{'-' * 20}"
    assert lines[-1].strip() == "## up   -- half" and "trial" in lines[-2]
    assert chart_lines({"none": []}, x="trial", width=80) == []
