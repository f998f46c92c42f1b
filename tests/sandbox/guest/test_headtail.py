"""Head and tail are kept and the cut is counted, however the stream is cut into chunks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groundwire.sandbox.guest.headtail import SLACK_BYTES, HeadTail


@given(st.lists(st.binary(max_size=50)), st.integers(1, 60))
def test_head_and_tail_are_kept_and_the_rest_is_counted(chunks: list[bytes], limit: int):
    kept = HeadTail(limit)
    for chunk in chunks:
        kept.add(chunk)
    whole = b"".join(chunks)
    if len(whole) <= limit:
        assert (kept.kept, kept.cut) == (whole, 0)
    else:
        head, tail = limit // 2, limit - limit // 2
        assert kept.kept == whole[:head] + whole[len(whole) - tail :]
        assert kept.cut == len(whole) - limit


def test_memory_does_not_grow_with_the_stream():
    kept = HeadTail(1000)
    for _ in range(200):
        kept.add(b"x" * SLACK_BYTES)
        assert len(kept._tail) <= 1000 + 2 * SLACK_BYTES  # pyright: ignore[reportPrivateUsage]
    assert kept.cut == 200 * SLACK_BYTES - 1000


def test_a_limit_of_nothing_keeps_nothing():
    kept = HeadTail(0)
    kept.add(b"abc")
    assert (kept.kept, kept.cut) == (b"", 3)
