"""For what has to come to pass before a limit does: on a machine that is too busy for it, the same with more time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
LONGER = (4, 20)


async def with_time_enough(first_s: float, attempt: Callable[[float], Awaitable[T]], came: Callable[[T], bool]) -> T:
    """What the attempt gave in the shortest time in which it came to what it is about, else in the longest.

    Args:
        first_s: seconds that a machine takes where little else runs.
        attempt: given the seconds of the limit.
        came: whether it came to what the test is about; what the test says of it is asserted by the test alone.
    """
    result = await attempt(first_s)
    for times in LONGER:
        if came(result):
            break
        result = await attempt(first_s * times)
    return result
