"""How many episodes of a batch run at once: as many as keep the model's engine full, with a bounded queue before it.

An engine that generates C samples at once is kept full if, whenever some of them end, others wait; and episodes whose
candidates are being judged ask for nothing. So an episode is let in whenever fewer than C + C samples are at the engine
or about to be, and not otherwise. It follows that

- what waits when an episode is let in is at most C: the queue is never longer than C and what comes back from judging;
- while tasks are left, no place in the engine stays empty for longer than it takes an episode to begin, unless as many
  episodes as `MOST` allows are being judged;
- where judging is slow, more episodes are in flight, as Little's law asks for; where it is fast, fewer.

Backends that don't say how busy they are (`groundwire.core._models`) change nothing: `FIRST` episodes run at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from groundwire.core._models import Backend, ReportsLoad

FIRST = 4
"""Episodes at once before anything is known, and for good with a backend that says nothing."""
MOST = 4
"""Episodes at once at most, in capacities of the engine: judging may be what everything waits for."""

current_slot: ContextVar[Slot | None] = ContextVar("groundwire_slot", default=None)
"""The place of the episode that the running task belongs to."""


@dataclass
class Admission:
    """Whether one more episode may begin.

    Args:
        fixed: episodes at once, whatever engines say; None: as above.
    """

    fixed: int | None = None
    active: int = 0
    """Episodes that have begun and not ended."""
    silent: int = 0
    """Those of them that have not called a model yet: what they will ask for is not in any engine's load."""
    samples: int = 1
    """The most samples that one call has asked for."""
    engines: dict[int, ReportsLoad] = field(default_factory=dict[int, ReportsLoad])

    def may_begin(self) -> bool:
        """True if one more would find the engine's queue short."""
        if self.fixed is not None:
            return self.active < self.fixed
        loads = [engine.load() for engine in self.engines.values()]
        if not loads:
            return self.active < FIRST
        if self.active >= max(FIRST, MOST * max(load.capacity for load in loads)):
            return False
        coming = self.silent * self.samples
        return all(load.running + load.waiting + coming < 2 * load.capacity for load in loads)

    def notice(self, backend: Backend, samples: int) -> None:
        """Takes note of a call that begins."""
        self.samples = max(self.samples, samples)
        if isinstance(backend, ReportsLoad):
            self.engines.setdefault(id(backend), backend)


class Slot:
    """The place of one episode.

    Args:
        gate: whose place it is.
    """

    def __init__(self, gate: InFlight) -> None:
        self._gate = gate
        self.is_silent = True

    def calling(self, backend: Backend, samples: int) -> None:
        """Said before a model is called."""
        if self.is_silent:
            self.is_silent = False
            self._gate.admission.silent -= 1
        self._gate.admission.notice(backend, samples)
        # the call itself reaches the engine after this step; what is let in now counts it as silent no more
        asyncio.get_running_loop().call_soon(self._gate.look)

    def called(self) -> None:
        """Said when the call has ended, however it did."""
        self._gate.look()


class InFlight:
    """Lets episodes begin in the order in which they came.

    Args:
        fixed: episodes at once; None: as the engine's load says.
    """

    def __init__(self, fixed: int | None = None) -> None:
        self.admission = Admission(fixed)
        self.most = 0
        """The most that ran at once."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def slot(self) -> AsyncGenerator[Slot]:
        """Waits until an episode may begin, and gives its place free in the end, also when it is cancelled."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self.look()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave(Slot(self))
            raise
        slot = Slot(self)
        token = current_slot.set(slot)
        try:
            yield slot
        finally:
            current_slot.reset(token)
            self._leave(slot)

    def look(self) -> None:
        """Lets in whoever may begin now."""
        while self._waiting and (self._waiting[0].done() or self.admission.may_begin()):
            turn = self._waiting.popleft()
            if turn.done():  # cancelled while it waited
                continue
            self.admission.active += 1
            self.admission.silent += 1
            self.most = max(self.most, self.admission.active)
            turn.set_result(None)

    def _leave(self, slot: Slot) -> None:
        self.admission.active -= 1
        if slot.is_silent:
            self.admission.silent -= 1
        self.look()
