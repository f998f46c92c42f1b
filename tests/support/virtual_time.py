"""An event loop whose clock jumps to the next timer: simulations of hours that run in milliseconds, always alike."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["run_in_virtual_time"]

T = TypeVar("T")


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumped = 0.0
        super().__init__()

    def time(self) -> float:
        return self._jumped

    def _run_once(self) -> None:
        loop: Any = self
        if not loop._ready and loop._scheduled:
            self._jumped = max(self._jumped, loop._scheduled[0].when())
        inner: Any = super()
        inner._run_once()


def run_in_virtual_time(work: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on such a loop."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)
