"""`groundwire resume`: goes on with whatever kind of run it was."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from groundwire.cli._repair import open_store, resume_repair, unique_run
from groundwire.core._errors import ConfigError
from groundwire.core._records import RunRecord
from groundwire.core._seal import FileKeys
from groundwire.core._settings import Settings


def resume_run(prefix: str, flags: Mapping[str, Any], *, as_json: bool, plots: Sequence[Path] = ()) -> int:
    """Goes on with a run that was interrupted.

    Args:
        prefix: the run's id, or a unique beginning of it.
        flags: where the ledger is.
        as_json: for scripts.
        plots: files for the picture of a run of `groundwire learn`.

    Returns:
        The exit code.
    """

    async def find() -> RunRecord:
        async with aclosing(open_store(Settings.resolve(flags))) as store:
            return await unique_run(store, prefix)

    run = asyncio.run(find())
    config: dict[str, Any] = json.loads(run.config)
    if FileKeys().is_held(run.id) and not _is_shared(config):
        raise ConfigError(f"Run {run.id} is still running.", do="Wait for it, or interrupt the process that runs it.")
    if main := config.get("control_of"):
        raise ConfigError(
            f"Run {run.id} is a control arm.", do=f"Resume the run it belongs to:   groundwire resume {main}"
        )
    if "learn" in config:
        from groundwire.cli._learn import resume_learning

        return resume_learning(run, flags, as_json=as_json, plots=plots)
    if "suite" in config:
        from groundwire.cli._run import resume_suite

        return resume_suite(run, flags, as_json=as_json)
    return resume_repair(run.id, flags, as_json=as_json)


def _is_shared(config: Mapping[str, Any]) -> bool:
    """True for a run of several workers, which whoever goes on with it joins."""
    suite = config.get("suite", {})
    return bool(suite.get("on")) or (suite.get("worker_processes") or 1) > 1
