"""Rooms that can be booked by the hour."""

from booking.intervals import Interval
from booking.rooms import Room

__all__ = ["Interval", "Room"]
