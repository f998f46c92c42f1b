"""Finding an episode of the ledger, to go on with it."""

from __future__ import annotations

from groundwire.errors import ConfigError, RecordNotFound
from groundwire.records import EpisodeRecord, Store
from groundwire.tasks import Task

__all__ = ["find_episode"]


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
