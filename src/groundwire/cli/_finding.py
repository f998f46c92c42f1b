"""Where a run is: in the ledger, or with the arms without memory, which memory must not see and people may."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager

from groundwire.cli._repair import open_store, unique_run
from groundwire.core._records import RunRecord
from groundwire.core._settings import Settings
from groundwire.memory import SqlStore

NAMESPACE = "without-memory"
"""Where the arms without memory write: no lesson, rate or statistic of theirs is ever seen from where memory is used,
and none of it from there."""


def store_without_memory(settings: Settings) -> SqlStore:
    """The ledger of arms without memory, in the same database."""
    name = f"{settings.namespace}/{NAMESPACE}" if settings.namespace else NAMESPACE
    return open_store(settings.model_copy(update={"namespace": name}))


@asynccontextmanager
async def store_with(settings: Settings, prefix: str) -> AsyncGenerator[tuple[SqlStore, RunRecord]]:
    """The run whose id begins with `prefix`, and the ledger that it is in.

    Raises:
        RecordNotFound: none, or more than one.
    """
    async with aclosing(open_store(settings)) as store:
        if await store.runs(prefix=prefix, limit=1):
            yield store, await unique_run(store, prefix)
            return
        async with aclosing(store_without_memory(settings)) as apart:
            holder = apart if await apart.runs(prefix=prefix, limit=1) else store
            yield holder, await unique_run(holder, prefix)
