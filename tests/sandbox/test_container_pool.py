"""Kept containers under a daemon that takes its time: the event loop never waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest

from groundwire.core._errors import SandboxCrashed
from groundwire.core._sandboxes import Limits
from groundwire.sandbox import _container_pool as container_pool
from groundwire.sandbox._container_pool import ContainerPool, finish
from groundwire.sandbox._container_run import Contained, Container
from groundwire.sandbox._conversing import GRACE_S
from groundwire.sandbox._exchange import JobReport
from groundwire.sandbox._run_slots import RunSlots
from groundwire.sandbox.guest import wire
from groundwire.sandbox.guest.headtail import HeadTail

JOB = cast("wire.Job", {})
FAILSAFE_S = 30.0
"""How long a call waits for the loop before it gives up: a loop that is blocked by it never comes."""


def loop_goes_round(loop: asyncio.AbstractEventLoop) -> bool:
    """Waits until the event loop has gone round; False where it can't, since this very call holds it up."""
    if threading.current_thread() is threading.main_thread():
        return False
    round_gone = threading.Event()
    loop.call_soon_threadsafe(round_gone.set)
    return round_gone.wait(FAILSAFE_S)


class SlowContainer:
    """A container whose daemon answers each call only after the event loop has gone round once more."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, act: Callable[[SlowContainer], Contained], began: threading.Event
    ) -> None:
        self._loop, self._act, self.began = loop, act, began
        self.calls: list[tuple[str, bool]] = []
        self.stopped = threading.Event()

    def _answer(self, name: str) -> None:
        self.calls.append((name, loop_goes_round(self._loop)))

    def open(self) -> None:
        self._answer("open")

    def run(self, job: wire.Job) -> Contained:
        self._answer("run")
        return self._act(self)

    def ran_out_of_memory(self) -> bool:
        self._answer("wait")
        return False

    def stop(self) -> None:
        self._answer("stop")
        self.stopped.set()

    def close(self) -> None:
        self._answer("close")


def contained(*, reported: bool) -> Contained:
    outcome = JobReport((0, 0, 0, 0.0, 0.0, 0, 0), {}) if reported else None
    return Contained(outcome, HeadTail(1), HeadTail(1), oom=False, said="")


def done(_container: SlowContainer) -> Contained:
    return contained(reported=True)


def killed(_container: SlowContainer) -> Contained:
    return contained(reported=False)


def broken(_container: SlowContainer) -> Contained:
    raise SandboxCrashed("the guest broke the protocol")


def until_stopped(container: SlowContainer) -> Contained:
    container.began.set()
    assert container.stopped.wait(FAILSAFE_S)
    return contained(reported=False)


class Ground:
    """One pool, and all containers that it made."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.made: list[SlowContainer] = []
        self.act: Callable[[SlowContainer], Contained] = done
        self.began = threading.Event()
        self.threads = ThreadPoolExecutor(1)
        self.pool = ContainerPool(self._make, self.threads, RunSlots(2))

    def _make(self, _limits: Limits) -> Container:
        self.made.append(SlowContainer(self.loop, self.act, self.began))
        return cast("Container", self.made[-1])

    def names(self) -> list[str]:
        return [name for container in self.made for name, _ in container.calls]

    def check(self) -> None:
        """Each call was answered, so none of them held the loop up."""
        held_up = [name for container in self.made for name, served in container.calls if not served]
        assert not held_up, f"on the event loop: {held_up}"


@pytest.fixture
async def ground() -> AsyncIterator[Ground]:
    made = Ground()
    yield made
    await made.pool.aclose()
    made.check()
    made.threads.shutdown()


async def test_containers_are_used_and_removed_aside(ground: Ground) -> None:
    for _ in range(2):
        await ground.pool.run(JOB, Limits())
    await ground.pool.aclose()
    assert ground.names() == ["open", "run", "run", "stop", "close"]


@pytest.mark.parametrize("act", [killed, broken])
async def test_one_that_ended_is_removed_aside(ground: Ground, act: Callable[[SlowContainer], Contained]) -> None:
    ground.act = act
    if act is broken:
        with pytest.raises(SandboxCrashed, match="broke the protocol"):
            await ground.pool.run(JOB, Limits())
    else:
        result, late = await ground.pool.run(JOB, Limits())
        assert (result.outcome, late) == (None, False)
    assert ground.names()[-2:] == ["stop", "close"]


async def test_one_that_is_late_is_stopped_aside(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_pool, "START_S", -GRACE_S)
    ground.act = until_stopped
    _, late = await ground.pool.run(JOB, Limits(wall_s=0.05))
    assert late
    assert ground.names().count("stop") == 2, "to end its work, and to be rid of it"


async def test_one_that_is_cancelled_is_stopped_aside_and_waited_for(ground: Ground) -> None:
    ground.act = until_stopped
    running = asyncio.ensure_future(ground.pool.run(JOB, Limits()))
    assert await asyncio.to_thread(ground.began.wait, FAILSAFE_S)
    for _ in range(3):
        running.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ground.made[0].stopped.is_set(), "nothing of it is left running"


async def test_a_daemon_that_ends_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_pool, "GRACE_S", 0.05)
    at_last = threading.Event()

    def work() -> Contained:
        at_last.wait(FAILSAFE_S)
        raise SandboxCrashed("too late to be of interest")

    with ThreadPoolExecutor(1) as threads:
        with pytest.raises(SandboxCrashed, match="did not end a container"):
            await finish(threads, work, lambda: None, 0.01)
        at_last.set()
