"""The trajectories of whole runs, one episode in memory at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence

from groundwire.errors import ConfigError
from groundwire.mint import Keys
from groundwire.records import RunRecord, Store
from groundwire.training.reading import read_trajectory
from groundwire.training.trajectories import Trajectory

__all__ = ["Trajectories", "trajectories_of"]


async def trajectories_of(
    store: Store, runs: Sequence[RunRecord], *, keys: Keys | None = None
) -> AsyncGenerator[Trajectory]:
    """The episodes of runs, in their order, however flawed they are.

    Args:
        store: the ledger.
        runs: runs of it.
        keys: where the runs' keys are; default: the user's own.

    Raises:
        StorageError: the ledger can't be read.
    """
    for run in runs:
        for episode in await store.episodes(run.id):
            yield await read_trajectory(store, run, episode, keys=keys)


class Trajectories:
    """The same for code that is not async. It may be gone through any number of times; each time reads the ledger anew.

    Args:
        store: the ledger.
        runs: runs of it.
        keys: where the runs' keys are; default: the user's own.
    """

    def __init__(self, store: Store, runs: Sequence[RunRecord], *, keys: Keys | None = None) -> None:
        self._store = store
        self._runs = runs
        self._keys = keys

    def __iter__(self) -> Iterator[Trajectory]:
        """One after the other.

        Raises:
            StorageError: the ledger can't be read.
            ConfigError: an event loop runs here.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._each()
        raise ConfigError(
            "Trajectories can't be gone through inside of a running event loop.",
            do="async for trajectory in trajectories_of(store, runs): …",
        )

    def _each(self) -> Iterator[Trajectory]:
        with asyncio.Runner() as runner:
            reading = trajectories_of(self._store, self._runs, keys=self._keys)
            try:
                while (trajectory := runner.run(_next(reading))) is not None:
                    yield trajectory
            finally:
                runner.run(reading.aclose())


async def _next(reading: AsyncGenerator[Trajectory]) -> Trajectory | None:
    return await anext(reading, None)
