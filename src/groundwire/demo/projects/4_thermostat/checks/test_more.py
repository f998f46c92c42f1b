from itertools import permutations

from thermostat.control import Thermostat
from thermostat.sensors import coldest


def test_the_order_of_sensors_does_not_matter():
    for values in permutations([3.0, -2.0, 7.5, None]):
        assert coldest(values) == -2.0


def test_silence_keeps_the_state():
    thermostat = Thermostat(20)
    assert thermostat.update([None]) is False
    thermostat.update([10.0])
    assert thermostat.update([None, None]) is True
