"""Many episodes in one run, some at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from groundwire.core._errors import ConfigError
from groundwire.core._tasks import Task
from groundwire.graphs.replay._reuse import Reuse
from groundwire.graphs.run._driver import OnError
from groundwire.graphs.run._episode import Observer
from groundwire.graphs.run._in_flight import InFlight
from groundwire.graphs.run._result import EpisodeResult
from groundwire.graphs.run._sandboxes import Sandboxes

QUEUE = 512
"""Episodes that may be in flight where an engine's load decides: more than any engine of today keeps busy."""


class RunsEpisodes(Protocol):
    """What a batch asks of a compiled graph (`FeedbackApp`)."""

    async def arun(
        self,
        task: Task,
        *,
        run_id: str | None,
        episode_id: str | None,
        seed: int,
        observers: Sequence[Observer],
        sandboxes: Sandboxes | None,
        reuse: Reuse,
        on_error: OnError,
        error: Exception | None,
    ) -> EpisodeResult:
        """One episode; see `FeedbackApp.arun`."""
        ...


@dataclass(frozen=True)
class QueuedEpisode:
    """One episode that is to be run.

    Args:
        app: runs it.
        task: what is to be solved.
        seed: for reproducible choices.
        episode_id: an episode of the run that was cut off, to go on with it; None: a new one.
        error: why it can't even begin; then it is ended with that.
    """

    app: RunsEpisodes
    task: Task
    seed: int = 0
    episode_id: str | None = None
    error: Exception | None = None


async def run_batch(
    works: Iterable[QueuedEpisode],
    ended: Callable[[QueuedEpisode, EpisodeResult], Awaitable[None] | None],
    *,
    run_id: str,
    sandboxes: Sandboxes,
    at_once: int | None = None,
    observers: Sequence[Observer] = (),
    reuse: Reuse = "never",
    on_error: OnError = "end",
) -> None:
    """Runs episodes; the next one is asked for when there is room, so `works` may be endless.

    Args:
        works: what is to be run.
        ended: told of each result as it comes, and awaited where it returns something to await.
        run_id: the run that all belong to.
        sandboxes: shared by all; its owner closes it.
        at_once: episodes at a time; None: as many as keep the model's engine full (`graphs.run.in_flight`).
        observers: told of each record after the ledger has it.
        reuse: as for `FeedbackApp.arun`.
        on_error: as for `FeedbackApp.arun`; by default an episode in which something raises ends, and the others go on.

    Raises:
        ConfigError: `at_once` is under 1.
        StorageError: the ledger failed; the other episodes were cancelled, and can be resumed.
        Exception: with `on_error="raise"`, the first that an episode raised; likewise.
    """
    if at_once is not None and at_once < 1:
        raise ConfigError(f"at_once is {at_once}.", do="Run at least one at a time.")
    waiting = iter(works)
    in_flight = InFlight(at_once)

    async def worker() -> None:
        while True:
            async with in_flight.slot():
                # taken only now, so that `works` is never ahead of the room there is
                work = next(waiting, None)
                if work is None:
                    return
                result = await work.app.arun(
                    work.task,
                    run_id=run_id,
                    episode_id=work.episode_id,
                    seed=work.seed,
                    observers=observers,
                    sandboxes=sandboxes,
                    reuse=reuse,
                    on_error=on_error,
                    error=work.error,
                )
                told = ended(work, result)
                if told is not None:
                    await told

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once or QUEUE):
                group.create_task(worker())
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
