"""Containers that are kept between commands: one command at a time in each, and each from the same clean state.

A container is given back only after its guest has reported an end; the guest itself ends, and the container with it,
where it can't clean up.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from groundwire.core._errors import SandboxCrashed
from groundwire.core._sandboxes import Limits, Network
from groundwire.sandbox._container_run import Contained, Container
from groundwire.sandbox._conversing import GRACE_S
from groundwire.sandbox._run_slots import RunSlots
from groundwire.sandbox.guest import wire

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

    def __init__(self, make: Callable[[Limits], Container], threads: ThreadPoolExecutor, slots: RunSlots) -> None:
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
        async with self._slots.one():
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
        def end() -> None:
            container.stop()
            with contextlib.suppress(SandboxCrashed):
                container.close()

        await asyncio.shield(_aside(end))

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

    Both block, so neither ever runs on the event loop, which goes on with everything else meanwhile.

    Args:
        threads: where the work runs.
        work: what is waited for.
        stop: brings the work to its end, from another thread.
        timeout_s: wall seconds until it is late.

    Returns:
        What came of it, and whether it was late.

    Raises:
        SandboxCrashed: it was late, and could not be stopped.
    """
    working = asyncio.wrap_future(threads.submit(work))
    working.add_done_callback(_seen)
    try:
        await asyncio.wait({working}, timeout=timeout_s)
        late = not working.done()
        if late:
            await _ended(working, stop)
    except asyncio.CancelledError:
        await _uninterrupted(_ended(working, stop))
        raise
    if not working.done():
        raise SandboxCrashed(
            f"Docker did not end a container within {GRACE_S:g} s.", do="Check that the Docker engine still answers."
        )
    return working.result(), late


async def _ended(working: asyncio.Future[Contained], stop: Callable[[], None]) -> None:
    """Stops the work, and gives both a moment to end."""
    await asyncio.wait({working, _aside(stop)}, timeout=GRACE_S)


def _aside(end: Callable[[], None]) -> asyncio.Future[None]:
    """Runs what brings work to its end: not in the work's threads, all of which may wait for just that."""
    ending = asyncio.get_running_loop().run_in_executor(None, end)
    ending.add_done_callback(_seen)
    return ending


def _seen(future: asyncio.Future[Any]) -> None:
    """Marks its exception as seen: who gave up waiting is told nothing any more."""
    if not future.cancelled():
        future.exception()


async def _uninterrupted(ending: Coroutine[Any, Any, None]) -> None:
    """Waits for it to its end, however often the waiting is cancelled; it takes no longer than its grace."""
    task = asyncio.ensure_future(ending)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({task})
