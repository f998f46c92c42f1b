"""Durations as text, for example `1h30m` or `2d`."""

from durations.units import SECONDS


def seconds(text):
    """Seconds in a duration."""
    return int(text[:-1]) * SECONDS[text[-1]]
