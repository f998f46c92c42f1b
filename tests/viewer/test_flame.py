"""Where time and tokens went, as blocks: nothing is left out, and nothing lies over anything else."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.viewer._flame import MOST_ROWS, WIDTH, FlameBlock, TimeSpan, flame_of_time, flame_of_tokens

SPANS = st.lists(
    st.builds(
        TimeSpan,
        label=st.just("l"),
        kind=st.sampled_from(["model", "judge"]),
        trial=st.integers(0, 3),
        start_s=st.floats(0, 100),
        duration_s=st.floats(0, 50),
        tokens=st.integers(0, 500),
        id=st.just("i"),
    ),
    max_size=40,
)


def _below(blocks: list[FlameBlock]) -> list[FlameBlock]:
    return [block for block in blocks if block.row]


@given(SPANS)
def test_what_took_time_and_tokens_is_all_there(spans: list[TimeSpan]) -> None:
    timed, counted = list(flame_of_time(spans)), list(flame_of_tokens(spans))
    seconds = [span.duration_s for span in spans if span.duration_s > 0]
    tokens = [span.tokens for span in spans if span.tokens]
    assert sum(block.count for block in _below(timed)) == len(seconds)
    assert sum(block.amount for block in _below(timed)) == pytest.approx(sum(seconds))
    assert sum(block.count for block in _below(counted)) == len(tokens)
    assert sum(block.amount for block in _below(counted)) == sum(tokens)
    assert all(block.x >= -0.01 and block.x + block.width <= WIDTH + 0.01 for block in (*timed, *counted))
    assert all(block.row <= MOST_ROWS for block in timed)


def test_ten_thousand_judgings_of_an_hour_are_few_blocks() -> None:
    spans = [TimeSpan("test · fail", "judge", at // 1000, 0.36 * at, 0.3, 0, f"s{at}") for at in range(10_000)]
    blocks = flame_of_time(spans)
    assert len(blocks) < 1_000
    assert sum(block.count for block in blocks if block.row) == 10_000
    assert [block.label for block in blocks if not block.row][:2] == ["baseline", "trial 1"]


def test_what_goes_on_at_the_same_time_stands_in_rows_of_its_own() -> None:
    spans = [TimeSpan("a", "model", 1, 0.0, 10.0, 5, "a"), TimeSpan("b", "judge", 1, 5.0, 10.0, 0, "b")]
    blocks = flame_of_time([*spans, TimeSpan("c", "judge", 1, 10.0, 2.0, 0, "c")])
    rows: dict[int, list[str]] = defaultdict(list)
    for block in blocks:
        rows[block.row].append(block.id)
    assert rows == {0: [""], 1: ["a", "c"], 2: ["b"]}
