"""A sandbox that is closed: what ran in it ends with an error at whatever stage it was, never with a result."""

from __future__ import annotations

import asyncio
import random
import uuid
from typing import Any

import pytest
from processes import marked
from sandboxes_here import KINDS, opened

from groundwire.core._candidates import Tree
from groundwire.core._errors import SandboxCrashed, SandboxError
from groundwire.core._sandboxes import BoxCommand, ExecResult, Limits, Sandbox
from groundwire.sandbox import _bubblewrap as bubblewrap
from groundwire.sandbox import _local_run as local_run
from groundwire.sandbox._run_slots import RunSlots

PATIENCE_S = 120.0
"""No test waits for it unless something hangs."""
CLOSED = "was closed before the command had ended"


async def until(mark: str, *, alive: bool) -> None:
    while bool(marked(f"{mark}\0")) is not alive:  # noqa: ASYNC110  the kernel tells nobody
        await asyncio.sleep(0.02)


@pytest.fixture
def mark() -> str:
    """What a command is known by on this machine."""
    return uuid.uuid4().hex


def started(box: Sandbox, mark: str) -> asyncio.Task[ExecResult]:
    return asyncio.create_task(box.run(["python", "-c", "import time; time.sleep(300)", mark], Tree(), Limits()))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_command_that_runs_has_no_result(kind: str, mark: str):
    async with asyncio.timeout(PATIENCE_S):
        box = await opened(kind)
        task = started(box, mark)
        await until(mark, alive=True)
        await box.aclose()
        with pytest.raises(SandboxError, match=CLOSED) as raised:
            await task
        await until(mark, alive=False)
    assert not raised.value.retryable


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock", "subprocess"])
async def test_nor_has_one_that_is_about_to_start_or_is_starting(kind: str, mark: str):
    moment = random.Random(kind)
    async with asyncio.timeout(PATIENCE_S):
        for rounds in (0, 1, 3, None, None):
            box = await opened(kind)
            task = started(box, mark)
            if rounds is None:
                await asyncio.sleep(moment.uniform(0, 0.1))  # anywhere in its start
            for _ in range(rounds or 0):
                await asyncio.sleep(0)
            await box.aclose()
            with pytest.raises(SandboxError, match="closed"):
                await task
        await until(mark, alive=False)


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock", "subprocess"])
async def test_nor_has_one_whose_keeper_reports_as_it_is_closed(kind: str, monkeypatch: pytest.MonkeyPatch):
    """A keeper that outlives its command by a moment says what ended that, as if the command had done it."""
    module: Any = bubblewrap if kind == "bubblewrap" else local_run
    in_hand, closed = asyncio.Event(), asyncio.Event()
    converse = module.converse

    async def reported(*args: Any, **more: Any) -> ExecResult:
        result = await converse(*args, **more)
        in_hand.set()
        await closed.wait()
        return result

    async with asyncio.timeout(PATIENCE_S):
        box = await opened(kind)
        monkeypatch.setattr(module, "converse", reported)
        task = asyncio.create_task(box.run(["python", "-c", ""], Tree(), Limits()))
        await in_hand.wait()
        closing = asyncio.create_task(box.aclose())
        await asyncio.sleep(0)
        closed.set()
        with pytest.raises(SandboxError, match=CLOSED):
            await task
        await closing


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_runs_in_a_closed_one(kind: str):
    box = await opened(kind)
    await box.aclose()
    await box.aclose()
    with pytest.raises(SandboxError, match="is closed"):
        await box.run(["python", "-c", ""], Tree(), Limits())
    with pytest.raises(SandboxError, match=r"is closed|no fork server"):
        await (await box.warm(Tree())).run(["-c", ""], {}, Limits())


async def test_a_pair_ends_with_it(mark: str):
    async with asyncio.timeout(PATIENCE_S):
        box: Any = await opened("bubblewrap")
        both = [BoxCommand(["python", "-c", "import time; time.sleep(300)", mark + side], Tree()) for side in "ab"]
        pair = asyncio.create_task(box.run_pair(*both, Limits()))
        for side in "ab":
            await until(mark + side, alive=True)
        await box.aclose()
        with pytest.raises(SandboxError, match=CLOSED):
            await pair
        for side in "ab":
            await until(mark + side, alive=False)


async def test_what_runs_in_its_fork_server_ends_with_it(mark: str):
    async with asyncio.timeout(PATIENCE_S):
        box = await opened("bubblewrap")
        server, other = await box.warm(Tree()), await box.warm(Tree())
        code = "import time; time.sleep(300)"
        tasks = [asyncio.create_task(one.run(["-c", code], {}, Limits())) for one in (server, server, other)]
        await asyncio.sleep(0.2)  # wherever they are by then
        await server.aclose()
        for task in tasks[:2]:
            with pytest.raises(SandboxCrashed, match="fork server was closed"):
                await task
        with pytest.raises(SandboxCrashed, match="fork server is closed"):
            await server.run(["-c", ""], {}, Limits())
        await box.aclose()
        with pytest.raises(SandboxCrashed, match="fork server was closed"):
            await tasks[2]


async def test_whoever_waits_for_a_slot_gets_none():
    slots = RunSlots(1)
    leave = asyncio.Event()

    async def use() -> str:
        async with slots.one():
            await leave.wait()
            return "a result"

    tasks = [asyncio.create_task(use()) for _ in range(3)]
    await asyncio.sleep(0)
    slots.close()
    left = asyncio.create_task(slots.left())
    await asyncio.sleep(0)
    assert not left.done()
    leave.set()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    await left
    assert [str(end).partition("\n")[0] for end in ends] == [
        "The sandbox was closed before the command had ended.",
        *2 * ["The sandbox is closed, and runs nothing any more."],
    ]


async def test_what_else_goes_wrong_is_said_as_it_is():
    slots = RunSlots(1)
    for error in (SandboxCrashed("it broke"), OSError("no disk"), ValueError("a defect")):
        with pytest.raises(type(error), match=str(error)):
            async with slots.one():
                raise error
    await slots.left()
