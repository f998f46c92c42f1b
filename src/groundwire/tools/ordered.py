"""Runs things side by side and gives their results in order."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from itertools import islice
from typing import TypeVar

__all__ = ["in_order", "processors"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


async def in_order(
    work: Callable[[Item], Awaitable[Result]], items: Iterable[Item], *, width: int
) -> AsyncGenerator[Result, None]:
    """Yields `work(item)` for each item, in the items' order, with at most `width` of them under way.

    When the reader stops, or one fails, what is under way is cancelled and waited for.

    Args:
        work: what to do with one item.
        items: read only as fast as there is room.
        width: at least 1.
    """
    waiting = iter(items)
    room = asyncio.Semaphore(width)
    started: deque[asyncio.Task[Result]] = deque()

    async def one(item: Item) -> Result:
        async with room:
            return await work(item)

    try:
        while True:
            # twice the width, so that a slow item at the head leaves nobody idle for long
            started.extend(asyncio.create_task(one(item)) for item in islice(waiting, 2 * width - len(started)))
            if not started:
                return
            await asyncio.wait([started[0]])
            yield started.popleft().result()
    finally:
        for task in started:
            task.cancel()
        await asyncio.gather(*started, return_exceptions=True)
