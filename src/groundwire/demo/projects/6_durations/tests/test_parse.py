import pytest

from durations.parse import seconds


def test_a_single_unit():
    assert seconds("90s") == 90
    assert seconds("2d") == 172800


def test_several_units_add_up():
    assert seconds("1h30m") == 5400
    assert seconds("1d2h3m4s") == 93784


def test_nonsense_is_refused():
    for text in ("", "h", "5", "3x", "1h-2m"):
        with pytest.raises(ValueError):
            seconds(text)
