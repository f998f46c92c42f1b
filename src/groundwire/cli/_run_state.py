"""Whether a run is finished, interrupted, or still running."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.core._records import RunEnd, RunRecord, RunState, run_state
from groundwire.core._seal import FileKeys
from groundwire.memory import SqlStore
from groundwire.memory._browsing import LedgerBrowser
from groundwire.memory._browsing_sql import OPEN

STYLES: Mapping[RunState, str] = {
    RunState.FINISHED: "green",
    RunState.RUNNING: "cyan",
    RunState.INTERRUPTED: "yellow",
}


async def state_of(store: SqlStore, run: RunRecord) -> RunState:
    """How a run stands; see `core._records.run_state`."""
    standing = await LedgerBrowser(store).standing(run.id)
    return run_state(
        run.config,
        is_held=FileKeys().is_held(run.id),
        is_ended=bool(standing.ended_at),
        begun=standing.episodes,
        unfinished=standing.verdicts.get(OPEN, 0),
    )


async def end_of_run(store: SqlStore, run_id: str) -> None:
    """Writes that a run is over, once, however often it is gone on with."""
    # here, since most that import this module only look
    from groundwire.graphs.run._sealing import RunSeals

    if not any(isinstance(end, RunEnd) for end in await store.ends(run_id)):
        await RunSeals.of(store, FileKeys()).end(store, run_id)
