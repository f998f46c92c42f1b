"""An episode whose process dies in the middle of it, and that another one goes on with from the ledger alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from groundwire import EpisodeResult, Task

__all__ = ["dies_and_goes_on"]


class Dies(BaseException):
    """Stands for kill -9: nothing in the loop may catch it."""


async def dies_and_goes_on(app: Any, task: Task, dies: Callable[[object], bool], *, seed: int = 0) -> EpisodeResult:
    """Runs the task until `dies` says so of a record that was just written, then goes on with the same episode."""

    def die(record: object) -> None:
        if dies(record):
            raise Dies

    run_id = await app.start_run()
    with pytest.raises(BaseException) as caught:
        await app.arun(task, run_id=run_id, seed=seed, observers=[die])
    assert caught.type is Dies
    (episode,) = await app.store.episodes(run_id)
    return await app.arun(task, run_id=run_id, episode_id=episode.id, seed=seed)
