"""The loop's async methods for where a person types."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import Any, TypeVar

from groundwire.errors import ConfigError

__all__ = ["iterate", "wait_for"]

T = TypeVar("T")


def wait_for(work: Coroutine[Any, Any, T], name: str, twin: str) -> T:
    """Runs `work` to its end.

    Args:
        work: what to run.
        name: the method that was called.
        twin: its async twin.

    Raises:
        ConfigError: an event loop is running already.
    """
    try:
        _refuse_in_loop(name, twin)
    except ConfigError:
        work.close()
        raise
    return asyncio.run(work)


def iterate(items: AsyncGenerator[T], name: str, twin: str) -> Iterator[T]:
    """Yields what `items` yields; arguments and errors as for `wait_for`."""
    _refuse_in_loop(name, twin)
    with asyncio.Runner() as runner:
        try:
            while True:
                try:
                    yield runner.run(_next(items))
                except StopAsyncIteration:
                    return
        finally:
            runner.run(items.aclose())


async def _next(items: AsyncGenerator[T]) -> T:
    return await anext(items)


def _refuse_in_loop(name: str, twin: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ConfigError(f"{name}() was called inside a running event loop.", do=f"Use:  await app.{twin}(…)")
