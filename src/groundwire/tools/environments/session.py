"""One world on a thread of its own: it may block or hang, and nobody waits for it longer than was agreed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

from groundwire.environments import Environment, Move, Scene, tidied

__all__ = ["Session"]

Work = tuple[Callable[[Environment], Scene | None], asyncio.AbstractEventLoop, "asyncio.Future[Scene | None]"]


class Session:
    """A world and what was done in it.

    The thread is a daemon, so that one which hangs keeps no program from ending; it can't be killed, and is left behind
    with its world.

    Args:
        make: makes the world; called on its thread, which is the only one that ever touches it.
        timeout_s: wall seconds for one action.
    """

    def __init__(self, make: Callable[[], Environment], timeout_s: float) -> None:
        self.moves: list[Move] = []
        self.oracle = False
        self._timeout_s = timeout_s
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        threading.Thread(target=_serve, args=(make, self._queue), name="environment", daemon=True).start()

    async def reset(self, seed: int) -> Scene:
        """Begins the world.

        Raises:
            TimeoutError: it took too long.
            Exception: what the world raised.
        """

        def begin(world: Environment) -> Scene:
            self.oracle = bool(getattr(world, "oracle", False))
            return tidied(world.reset(seed))

        return await self._ask(begin)

    async def act(self, action: str) -> Scene:
        """Does one thing. Raises as `reset` does."""
        scene = await self._ask(lambda world: tidied(world.act(action)))
        self.moves.append(Move(action, scene))
        return scene

    def close(self) -> None:
        """Has the world closed as soon as its thread is free; waits for nothing."""
        self._queue.put(None)

    async def _ask(self, work: Callable[[Environment], Scene | None]) -> Scene:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Scene | None] = loop.create_future()
        self._queue.put((work, loop, answer))
        async with asyncio.timeout(self._timeout_s):
            scene = await answer
        assert scene is not None
        return scene


def _serve(make: Callable[[], Environment], queue: SimpleQueue[Work | None]) -> None:
    world: Environment | None = None
    while (item := queue.get()) is not None:
        work, loop, answer = item
        result: Scene | BaseException | None
        try:
            if world is None:
                world = make()
            result = work(world)
        except BaseException as error:  # whatever a world raises is its answer
            result = error
        with suppress(RuntimeError):  # the loop is gone, and with it whoever asked
            loop.call_soon_threadsafe(_settle, answer, result)
    if world is not None:
        with suppress(Exception):
            world.close()


def _settle(answer: asyncio.Future[Scene | None], result: Scene | BaseException | None) -> None:
    if answer.done():
        return
    if isinstance(result, Exception):
        answer.set_exception(result)
    elif isinstance(result, BaseException):
        answer.set_exception(RuntimeError(f"{type(result).__name__}: {result}"))
    else:
        answer.set_result(result)
