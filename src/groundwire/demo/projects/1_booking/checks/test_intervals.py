import pytest

from booking import Interval


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((0, 10), (10, 20), False),
        ((10, 20), (0, 10), False),
        ((0, 10), (9, 20), True),
        ((9, 20), (0, 10), True),
        ((0, 30), (10, 20), True),
        ((10, 20), (0, 30), True),
        ((0, 1), (5, 6), False),
    ],
)
def test_overlap_is_symmetric_and_half_open(a, b, expected):
    assert Interval(*a).overlaps(Interval(*b)) is expected
