"""What ending traces early has saved."""

from __future__ import annotations

import pytest

from groundwire.evaluation._process import tokens_saved


def test_cut_and_unbegun_traces_count_as_long_as_whole_ones() -> None:
    # two whole traces of 100 on average; two were cut at 20, and four of the eight that were planned were not begun
    assert tokens_saved([90, 110, 20, 20], [True, True, False, False], 8) == pytest.approx(1 - 240 / 800)


def test_nothing_was_saved_where_all_were_written() -> None:
    assert tokens_saved([100, 50], [True, True], 2) == 0.0
    assert tokens_saved([300, 50], [False, True], 2) == 0.0, "a cut trace may have been longer than the whole ones"


def test_without_a_whole_trace_it_can_not_be_told() -> None:
    assert tokens_saved([10, 10], [False, False], 4) is None
    assert tokens_saved([], [], 4) is None
