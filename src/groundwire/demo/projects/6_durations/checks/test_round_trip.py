import pytest

from durations.parse import seconds


@pytest.mark.parametrize(("d", "h", "m", "s"), [(0, 0, 0, 1), (1, 0, 0, 0), (0, 23, 59, 59), (9, 9, 9, 9)])
def test_all_units_together(d, h, m, s):
    assert seconds(f"{d}d{h}h{m}m{s}s") == d * 86400 + h * 3600 + m * 60 + s
