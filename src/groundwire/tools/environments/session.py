"""One world on a thread of its own: it may block or hang, and nobody waits for it longer than was agreed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

from groundwire.environments import Environment, Move, Scene, tidied

__all__ = ["Session", "WorldBroke"]

Work = tuple[Callable[[Environment], Scene | None], asyncio.AbstractEventLoop, "asyncio.Future[Scene | None]"]


class WorldBroke(Exception):
    """What a world raised, in words. It is put into words on the world's own thread, where that can do no harm."""


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
            WorldBroke: it raised something.
        """

        def begin(world: Environment) -> Scene:
            scene = tidied(world.reset(seed))
            self.oracle = bool(getattr(world, "oracle", False))
            return scene

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
        result: Scene | WorldBroke | None
        try:
            if world is None:
                world = make()
            result = work(world)
        except BaseException as error:  # whatever a world raises is its answer
            result = WorldBroke(_in_words(error))
        with suppress(RuntimeError):  # the loop is gone, and with it whoever asked
            loop.call_soon_threadsafe(_settle, answer, result)
    if world is not None:
        with suppress(BaseException):
            world.close()


def _in_words(error: BaseException) -> str:
    name = type(error).__name__
    try:
        said = str(error)
    except BaseException:  # a stranger's exception, which may break when it is asked what it is
        return name
    return f"{name}: {said}" if said else name


def _settle(answer: asyncio.Future[Scene | None], result: Scene | WorldBroke | None) -> None:
    if answer.done():
        return
    if isinstance(result, WorldBroke):
        answer.set_exception(result)
    else:
        answer.set_result(result)
