"""A set of digests is a set."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groundwire.training._digests import FIRST_SLOTS, ShortDigests, short_digest

CLOSE = st.integers(1, 2**64 - 1) | st.sampled_from([FIRST_SLOTS * n + 7 for n in range(40)])
"""Many that would go to one place."""


@given(st.lists(CLOSE, max_size=200))
def test_it_knows_what_was_added_and_nothing_else(digests: list[int]) -> None:
    known, plain = ShortDigests(), set[int]()
    for digest in digests:
        assert (digest in known) == (digest in plain)
        assert known.add(digest) == (digest not in plain)
        plain.add(digest)
        assert digest in known and len(known) == len(plain)


def test_it_grows_and_forgets_none() -> None:
    known = ShortDigests()
    digests = [short_digest(f"row {n}") for n in range(5 * FIRST_SLOTS)]
    assert all(known.add(digest) for digest in digests) and len(known) == len(digests)
    assert not any(known.add(digest) for digest in digests)
    assert short_digest("another") not in known
