"""Seconds in each unit."""

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def is_unit(letter):
    return letter in SECONDS
