"""How many requests of one backend may be in flight at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from groundwire.core._errors import ConfigError

T = TypeVar("T")

CONNECT_S = 5.0
"""Seconds for which a connection is waited for: no busy server needs more, since its machine takes it."""


class PerLoop(Generic[T]):
    """One of a thing for each event loop: what waits can't be shared by loops, and sync callers start one a call.

    Args:
        make: makes one, inside the loop that it is for.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def here(self) -> T:
        """That of the running event loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            self._made[loop] = self._make()
        return self._made[loop]


class Slots:
    """Bounds requests in flight, and how long each may take. Who finds no slot waits; nobody is turned away.

    Args:
        most: requests in flight at once.
        timeout_s: seconds that one attempt may take in all, once it has its slot.

    Raises:
        ConfigError: an argument is out of range.
    """

    def __init__(self, most: int, timeout_s: float) -> None:
        if not timeout_s > 0 or most < 1:
            raise ConfigError(
                f"timeout_s is {timeout_s} and max_in_flight is {most}.",
                do="Use more than 0 seconds and at least 1 request in flight.",
            )
        self.most = most
        self.timeout_s = timeout_s
        self.connect_s = min(CONNECT_S, timeout_s)
        self._of_loop = PerLoop(lambda: asyncio.Semaphore(most))

    def here(self) -> asyncio.Semaphore:
        """The slots of the running event loop, to be entered with `async with`."""
        return self._of_loop.here()

    def deadline(self) -> asyncio.Timeout:
        """The time that one attempt may take, to be entered with `async with`; a jump of the clock does not matter."""
        return asyncio.timeout(self.timeout_s)
