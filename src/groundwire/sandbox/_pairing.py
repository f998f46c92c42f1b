"""Two boxes at once with one line between them: they live and die together."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

from groundwire.core._sandboxes import BoxCommand, ExecResult, Limits, Pair

LONGER_S = 2.0
"""The answering command's wall seconds beyond the asking one's, so that it is never the clock that ends it first."""
Run: TypeAlias = "Callable[[BoxCommand, Limits, int], Awaitable[ExecResult]]"
"""Runs one command in a box of its own, which gets the descriptor as its end of the line."""


async def run_pair(run: Run, asking: BoxCommand, answering: BoxCommand, limits: Limits) -> Pair:
    """Runs both; see `groundwire.core._sandboxes.PairingSandbox.run_pair`.

    Args:
        run: runs one of them.
        asking: decides how long both run.
        answering: is killed when the other has ended.
        limits: of each.

    Raises:
        SandboxCrashed: a box broke. Where that is the answering one, what the other said of it is worth nothing.
    """
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    longer = limits.model_copy(update={"wall_s": limits.wall_s + LONGER_S})
    answers = asyncio.ensure_future(_with_end(run(answering, longer, far.fileno()), far))
    try:
        asked = await _with_end(run(asking, limits, near.fileno()), near)
    finally:
        still_ran = not answers.done()
        answers.cancel()
        while not answers.done():
            with suppress(asyncio.CancelledError):  # a second one leaves nothing behind either
                await asyncio.wait({answers})
    return Pair(asked, None if still_ran else answers.result())


async def _with_end(running: Awaitable[ExecResult], end: socket.socket) -> ExecResult:
    # ours is closed once the box is gone, with what it says known: only then does the other side read the end
    with end:
        return await running
