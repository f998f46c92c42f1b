"""Whether a run is finished, interrupted, or still running."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from groundwire.core._records import EpisodeEnd, RunEnd, RunRecord
from groundwire.core._seal import FileKeys
from groundwire.memory import SqlStore


class RunState(StrEnum):
    """How a run stands."""

    FINISHED = "finished"
    RUNNING = "running"
    """A process of this machine is at it now."""
    INTERRUPTED = "interrupted"
    """It has something left to do, and no process of this machine is at it."""


STYLES: Mapping[RunState, str] = {
    RunState.FINISHED: "green",
    RunState.RUNNING: "cyan",
    RunState.INTERRUPTED: "yellow",
}


async def state_of(store: SqlStore, run: RunRecord) -> RunState:
    """How a run stands; one of an older version, which wrote no end, is finished where all its episodes are."""
    if FileKeys().is_held(run.id):
        return RunState.RUNNING
    ends = await store.ends(run.id)
    if any(isinstance(end, RunEnd) for end in ends):
        return RunState.FINISHED
    ended = {end.episode_id for end in ends if isinstance(end, EpisodeEnd)}
    begun = {episode.id for episode in await store.episodes(run.id)}
    config: dict[str, Any] = json.loads(run.config)
    tasks: Sequence[object] = config.get("suite", {}).get("tasks", ())
    is_whole = begun and begun <= ended and len(begun) >= len(tasks)
    return RunState.FINISHED if is_whole else RunState.INTERRUPTED


async def end_of_run(store: SqlStore, run_id: str) -> None:
    """Writes that a run is over, once, however often it is gone on with."""
    # here, since most that import this module only look
    from groundwire.graphs.run._sealing import RunSeals

    if not any(isinstance(end, RunEnd) for end in await store.ends(run_id)):
        await RunSeals.of(store, FileKeys()).end(store, run_id)
