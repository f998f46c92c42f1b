"""How many commands run at once in a sandbox, and what closing it means for them: an end, and never a result."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from groundwire.core._errors import SandboxError


def usual_slots() -> int:
    """One for each of the cores that this process may use, and at least two."""
    return max(2, len(os.sched_getaffinity(0)))


class RunSlots:
    """A slot for each command that may run at once, until they are closed.

    What ends a command from outside may end its keeper a moment later, which then reports how "the command" ended. So
    what was running when the slots were closed has no result, whatever was reported of it.

    Args:
        count: how many; None: `usual_slots`.
        of: what is closed with them, as an error names it.
        error: what is raised then; one that may be retried only where others go on in another one by themselves.
        again: what to do then.
    """

    def __init__(
        self,
        count: int | None = None,
        *,
        of: str = "sandbox",
        error: type[SandboxError] = SandboxError,
        again: str = "Open another one with `open_sandbox`.",
    ) -> None:
        self._free = asyncio.Semaphore(count or usual_slots())
        self._of = of
        self._error = error
        self._again = again
        self._closed = False
        self._taken = 0
        self._none_taken = asyncio.Event()
        self._none_taken.set()

    def check(self) -> None:
        """Returns if they are open.

        Raises:
            SandboxError: they are closed.
        """
        if self._closed:
            raise self._error(f"The {self._of} is closed, and runs nothing any more.", do=self._again)

    @asynccontextmanager
    async def one(self) -> AsyncGenerator[None]:
        """Takes a slot, once one is free, for the time of a command.

        Raises:
            SandboxError: they are closed, or were before the command had ended.
        """
        self.check()
        async with self._free:
            self.check()
            self._taken += 1
            self._none_taken.clear()
            try:
                yield
            except (SandboxError, OSError) as error:
                if self._closed:
                    raise self._cut_off() from error
                raise
            finally:
                self._taken -= 1
                if not self._taken:
                    self._none_taken.set()
            if self._closed:
                raise self._cut_off()

    def _cut_off(self) -> SandboxError:
        return self._error(f"The {self._of} was closed before the command had ended.", do=self._again)

    def close(self) -> None:
        """Lets nobody in any more; whoever is in is left to be ended."""
        self._closed = True

    async def left(self) -> None:
        """Returns when whoever was in has left."""
        await self._none_taken.wait()
