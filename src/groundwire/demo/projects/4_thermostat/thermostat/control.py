"""When to heat."""

from thermostat.sensors import coldest

MARGIN = 0.5


class Thermostat:
    """Heats below the target and stops a margin above it."""

    def __init__(self, target):
        self.target = target
        self.heating = False

    def update(self, values):
        """Takes new readings; says whether to heat. Silent sensors change nothing."""
        temperature = coldest(values)
        if temperature is None:
            return self.heating
        if temperature < self.target:
            self.heating = True
        elif temperature > self.target + MARGIN:
            self.heating = False
        return self.heating
