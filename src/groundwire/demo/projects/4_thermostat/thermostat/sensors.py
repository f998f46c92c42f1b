"""Readings of several sensors, in degrees Celsius; None where a sensor is silent."""


def readings(values):
    return [value for value in values if value is not None]


def coldest(values):
    """The lowest reading, or None if all sensors are silent."""
    lowest = None
    for value in readings(values):
        if lowest is None or value > lowest:
            lowest = value
    return lowest
