"""Containers that are kept between commands: one command at a time in each, and each from the same clean state.

A container is given back only after its guest has reported an end; the guest itself ends, and the container with it,
where it can't clean up.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from groundwire.errors import SandboxCrashed
from groundwire.limits import Limits, Network
from groundwire.sandbox.container_run import Contained, Container
from groundwire.sandbox.conversing import GRACE_S
from groundwire.sandbox.guest import wire

__all__ = ["ContainerPool", "finish"]

START_S = 60.0


@dataclass(frozen=True)
class _Size:
    """What a container is made with; commands of another size need another one."""

    memory_bytes: int
    processes: int
    disk_bytes: int
    network: Network

    @classmethod
    def of(cls, limits: Limits) -> _Size:
        return cls(limits.memory_bytes, limits.processes, limits.disk_bytes, limits.network)


class ContainerPool:
    """Hands out containers, and makes them as they are needed.

    Args:
        make: a container for these limits, not yet open.
        threads: where containers are used; as many as may be used at once.
        slots: bounds how many are used at once, over all pools of a sandbox.
    """

    def __init__(
        self, make: Callable[[Limits], Container], threads: ThreadPoolExecutor, slots: asyncio.Semaphore
    ) -> None:
        self._make = make
        self._threads = threads
        self._slots = slots
        self._free: dict[_Size, list[Container]] = {}
        self._closed = False

    async def run(self, job: wire.Job, limits: Limits) -> tuple[Contained, bool]:
        """Runs one job.

        Returns:
            What came of it, and whether it had to be stopped for being late.

        Raises:
            CandidateError: the tree can't be laid out.
            SandboxCrashed: the container can't be made, or its guest broke.
        """
        size = _Size.of(limits)
        async with self._slots:
            free = self._free.setdefault(size, [])
            container = free.pop() if free else None
            fresh = container is None
            container = container or self._make(limits)
            used = container

            def work() -> Contained:
                if fresh:
                    used.open()
                done = used.run(job)
                if done.outcome is None:
                    done.oom = used.ran_out_of_memory()
                return done

            try:
                done, late = await finish(self._threads, work, used.stop, START_S + limits.wall_s + GRACE_S)
            except BaseException:
                await self._discard(used)
                raise
            if done.outcome is None or late or self._closed:
                await self._discard(used)
            else:
                free.append(used)
            return done, late

    async def _discard(self, container: Container) -> None:
        container.stop()
        with contextlib.suppress(SandboxCrashed):
            await asyncio.shield(asyncio.wrap_future(self._threads.submit(container.close)))

    async def aclose(self) -> None:
        """Removes the containers that are free, and from now on every other as it is given back."""
        self._closed = True
        for containers in self._free.values():
            while containers:
                await self._discard(containers.pop())


async def finish(
    threads: ThreadPoolExecutor, work: Callable[[], Contained], stop: Callable[[], None], timeout_s: float
) -> tuple[Contained, bool]:
    """Waits for blocking work; when late or cancelled, stops it and still waits, so that nothing is left.

    Returns:
        What came of it, and whether it was late.
    """
    working = threads.submit(work)
    try:
        async with asyncio.timeout(timeout_s):
            return await asyncio.shield(asyncio.wrap_future(working)), False
    except TimeoutError:
        stop()
        return working.result(GRACE_S), True
    except asyncio.CancelledError:
        stop()
        with contextlib.suppress(Exception):
            working.result(GRACE_S)
        raise
