from thermostat.control import Thermostat
from thermostat.sensors import coldest


def test_the_coldest_sensor_counts():
    assert coldest([21.0, 18.5, 20.0]) == 18.5


def test_silent_sensors_are_left_out():
    assert coldest([None, 19.0, None]) == 19.0
    assert coldest([None]) is None


def test_one_cold_sensor_starts_the_heating():
    assert Thermostat(20).update([22.0, 17.0]) is True


def test_heating_stops_above_the_margin():
    thermostat = Thermostat(20)
    thermostat.update([19.0])
    assert thermostat.update([20.3]) is True
    assert thermostat.update([20.6]) is False
