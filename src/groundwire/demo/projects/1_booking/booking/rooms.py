"""Rooms and their bookings."""


class Room:
    def __init__(self, name):
        self.name = name
        self.bookings = []

    def is_free(self, wanted):
        for booked in self.bookings:
            if booked.overlaps(wanted):
                return False
        return True

    def book(self, wanted):
        """Books the room if it is free; says whether it did."""
        if not self.is_free(wanted):
            return False
        self.bookings.append(wanted)
        return True

    def booked_minutes(self):
        return sum(booking.minutes for booking in self.bookings)
