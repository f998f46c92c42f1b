"""`groundwire resume`: goes on with whatever kind of run it was."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

from groundwire.cli.repair import open_store, resume_repair, unique_run
from groundwire.records import RunRecord
from groundwire.settings import Settings

__all__ = ["resume_run"]


def resume_run(prefix: str, flags: Mapping[str, Any], *, as_json: bool) -> int:
    """Goes on with a run that was interrupted.

    Args:
        prefix: the run's id, or a unique beginning of it.
        flags: where the ledger is.
        as_json: for scripts.

    Returns:
        The exit code.
    """

    async def find() -> RunRecord:
        async with aclosing(open_store(Settings.resolve(flags))) as store:
            return await unique_run(store, prefix)

    run = asyncio.run(find())
    if "suite" in json.loads(run.config):
        from groundwire.cli.run import resume_suite

        return resume_suite(run, flags, as_json=as_json)
    return resume_repair(run.id, flags, as_json=as_json)
