"""Finding an episode of the ledger, to go on with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from groundwire.errors import ConfigError, RecordNotFound
from groundwire.records import EpisodeRecord, Store
from groundwire.tasks import Task

__all__ = ["as_recorded", "find_episode", "stars_crossed"]


async def find_episode(store: Store, run_id: str | None, episode_id: str, task: Task) -> EpisodeRecord:
    """The record of an episode about this very task.

    Raises:
        ConfigError: its run was not named.
        RecordNotFound: the run has no such episode, or it is about other files.
    """
    if run_id is None:
        raise ConfigError("To go on with an episode, its run must be named.", do="Give run_id as well.")
    for record in await store.episodes(run_id):
        if record.id == episode_id:
            if record.base_digest != task.tree.digest:
                raise RecordNotFound(
                    f"Episode {episode_id} is about other files than the task has now.",
                    do="Restore the files as they were, or start a new run.",
                )
            return record
    raise RecordNotFound(f"Run {run_id} has no episode {episode_id}.", do="List them:  groundwire show RUN")


def as_recorded(task: Task, record: EpisodeRecord) -> Task:
    """The task, with its globs read as they were when the episode began."""
    return replace(task, stars_cross=stars_crossed(json.loads(record.task)))


def stars_crossed(told: Mapping[str, Any]) -> bool:
    """Whether `*` in the globs of a recorded task stood for `/` too; it did before the record said so."""
    return bool(told.get("stars_cross", True))
