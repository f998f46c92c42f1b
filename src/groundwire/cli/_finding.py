"""Where a run is: in the ledger, or with the arms without memory, which memory must not see and people may."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager

from groundwire.cli._repair import open_store, unique_run
from groundwire.core._errors import RecordNotFound
from groundwire.core._records import RunRecord
from groundwire.core._settings import Settings
from groundwire.memory import SqlStore
from groundwire.memory._kept_rows import episodes_named

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


@asynccontextmanager
async def store_with_either(settings: Settings, prefix: str) -> AsyncGenerator[tuple[SqlStore, RunRecord, str]]:
    """The run whose id begins with `prefix`, the ledger that it is in, and an empty text; or, where no run's does, the
    run of the one episode whose id begins so, and that episode's id.

    Raises:
        RecordNotFound: none, or more than one.
    """
    async with aclosing(open_store(settings)) as store, aclosing(store_without_memory(settings)) as apart:
        for one in (store, apart):
            if await one.runs(prefix=prefix, limit=1):
                yield one, await unique_run(one, prefix), ""
                return
        named = await episodes_named(store, prefix)
        if len(named) > 1:
            raise RecordNotFound(f"More than one episode's id begins with {prefix!r}.", do="Give more of it.")
        for episode_id, run_id in named:
            for one in (store, apart):
                for run in await one.runs(prefix=run_id, limit=1):
                    yield one, run, episode_id
                    return
        await unique_run(store, prefix)  # says that there is none, and where else it may be
