"""Half-open intervals of time."""


class Interval:
    """From `start` up to, and without, `end`; both in minutes."""

    def __init__(self, start, end):
        if end <= start:
            raise ValueError("an interval ends after it starts")
        self.start = start
        self.end = end

    def overlaps(self, other):
        """True if the two share at least one minute."""
        return self.start <= other.end and other.start < self.end

    @property
    def minutes(self):
        return self.end - self.start
