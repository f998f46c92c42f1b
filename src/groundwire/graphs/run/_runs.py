"""The runs that a compiled graph begins, goes on with and ends: each has a record, a key of its own, one rule by which
its seeds are derived, and what all its episodes may use together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from weakref import WeakKeyDictionary

from groundwire.core._errors import ConfigError
from groundwire.core._ids import SeedRule
from groundwire.core._records import RunRecord, Store
from groundwire.core._seal import FileKeys, Keys
from groundwire.core._signals import canonical
from groundwire.core._version import __version__
from groundwire.graphs.run._budget import Budget, Meter, RunBudget, run_meters
from groundwire.graphs.run._sealing import RunSeals, Sealing, keys_of

_SEED_RULES: WeakKeyDictionary[Store, dict[str, SeedRule]] = WeakKeyDictionary()
"""Of the runs that this process works on, read once for all apps that share a store."""


async def config_of(store: Store, run_id: str) -> dict[str, Any]:
    """What was asked for when a run began, as the ledger has it; nothing of a run that it does not know."""
    runs = await store.runs(prefix=run_id, limit=1)
    return json.loads(runs[0].config) if runs else {}


class Runs:
    """The runs of one app.

    Args:
        store: their ledger.
        keys: where their keys are; None: in the user's files, or, where the ledger ends with the process, in memory.
        total: what all episodes of one of them may use together.
    """

    def __init__(self, store: Store, keys: Keys | None, total: RunBudget | None) -> None:
        self._store = store
        self.keys: Keys = keys or keys_of(store)
        self._total = total
        self._meters = run_meters(store)

    async def begin(self, graph: str, config: Mapping[str, Any]) -> str:
        """Makes a run's key, writes its first record, and returns its id.

        Args:
            graph: the graph's name.
            config: what was asked for, kept in the ledger.
        """
        run = RunRecord(graph=graph, config=canonical(config), version=__version__)
        await self._seals.begin(self._store, run)
        _SEED_RULES.setdefault(self._store, {})[run.id] = SeedRule.HASHED
        self._meters.begin(run.id, self._total)
        return run.id

    async def end(self, run_id: str) -> None:
        """Writes that a run is over."""
        await self._seals.end(self._store, run_id)
        self._meters.end(run_id)
        _SEED_RULES.get(self._store, {}).pop(run_id, None)

    def held(self, run_id: str) -> AbstractContextManager[object]:
        """Says to other processes, as long as it is open, that this one works on the run."""
        return self.keys.held(run_id) if isinstance(self.keys, FileKeys) else nullcontext()

    async def sealing(self, run_id: str) -> Sealing:
        """What seals the run's signals and links; its key is read once for all episodes."""
        return await self._seals.sealing(self._store, run_id)

    @property
    def _seals(self) -> RunSeals:
        return RunSeals.of(self._store, self.keys)

    async def meter(self, run_id: str, budget: Budget, episode_id: str) -> Meter:
        """What counts the use of one episode, against its own budget and the run's."""
        run = await self._meters.of(run_id, self._total, self._store)
        return Meter(budget, run, episode_id=episode_id)

    async def seed_rule(self, run_id: str) -> SeedRule:
        """How a run's seeds are derived; one that was recorded before goes on, and replays, as it began.

        Raises:
            ConfigError: this version does not know the rule.
        """
        rules = _SEED_RULES.setdefault(self._store, {})
        if run_id not in rules:
            runs = await self._store.runs(prefix=run_id, limit=1)
            name: str = json.loads(runs[0].config).get("seeds", SeedRule.SUMMED) if runs else SeedRule.HASHED
            if name not in set(SeedRule):
                what = f"The seeds of run {run_id} follow a rule that this version does not know: {name!r}."
                raise ConfigError(what, do="Go on with it, or replay it, with the version that began it.")
            rules[run_id] = SeedRule(name)
        return rules[run_id]
