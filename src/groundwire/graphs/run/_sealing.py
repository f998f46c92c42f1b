"""What seals the runs that this process works on: each run's mint and its chains, for all apps that share a store."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from groundwire.core._chain import Heads, RunChain, head_of
from groundwire.core._records import RunEnd, RunRecord, Store
from groundwire.core._seal import FileKeys, Keys, MemoryKeys, Mint
from groundwire.core._signing import signer, worker_key

_SEALS: WeakKeyDictionary[Store, RunSeals] = WeakKeyDictionary()
_MEMORY_KEYS: WeakKeyDictionary[Store, MemoryKeys] = WeakKeyDictionary()
"""Of runs in stores that end with the process: apps that share such a store share its keys."""


def keys_of(store: Store) -> Keys:
    """Where the keys of a store's runs are, unless somebody says otherwise."""
    return FileKeys() if store.durable else _MEMORY_KEYS.setdefault(store, MemoryKeys())


@dataclass(frozen=True)
class Sealing:
    """What seals one run.

    Args:
        mint: seals its signals.
        chain: makes its links; None: a run of version 0.1, or a ledger that ends with the process.
    """

    mint: Mint
    chain: RunChain | None


class RunSeals:
    """What seals the runs of one store.

    The process that begins a run seals with the run's own key, every other one with a key of its own, which the run's
    key vouches for, and which a link of the run names.

    Args:
        keys: where the runs' keys are.
    """

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._known: dict[str, Sealing] = {}

    @classmethod
    def of(cls, store: Store, keys: Keys) -> RunSeals:
        """Those of a store, which all of a process share."""
        found = _SEALS.get(store)
        if found is None or found._keys != keys:
            found = _SEALS[store] = cls(keys)
        return found

    async def begin(self, store: Store, run: RunRecord) -> None:
        """Makes a run's key and writes its first record.

        Raises:
            StorageError: the key or the record can't be written.
        """
        key = self._keys.create(run.id)
        if not store.durable:
            await store.append(run)
            self._known[run.id] = Sealing(Mint(run.id, key), None)
            return
        first = self._chain(store, run.id, key).begin()
        await store.append(run, first.open(key=signer(run.id, key).public.hex))
        first.kept()
        self._known[run.id] = Sealing(Mint(run.id, key), self._chain(store, run.id, key, first.head))

    async def sealing(self, store: Store, run_id: str) -> Sealing:
        """What seals a run's signals and links.

        Raises:
            SealError: its key is not here, or must not be used.
            StorageError: the ledger failed.
        """
        if run_id not in self._known:
            links = await store.links(run_id, run_id) if store.durable else ()
            first = next((link for link in links if link.number == 0), None)
            if run_id not in self._known:  # nor has another episode read it meanwhile
                await self._join(store, run_id, head_of(first) if first else "")
        return self._known[run_id]

    async def end(self, store: Store, run_id: str) -> None:
        """Writes that a run is over, and what it came to: the head of every episode."""
        chain = (await self.sealing(store, run_id)).chain
        if chain is None:
            await store.append(RunEnd(run_id=run_id))
        else:
            last = chain.later()
            heads = chain.heads_of(await store.last_links(run_id))
            await store.append(RunEnd(run_id=run_id), last.open(episodes=heads))
            last.kept()
            chain.close()
        self._known.pop(run_id, None)

    async def _join(self, store: Store, run_id: str, first: str) -> None:
        """Seals a run that another process began.

        Args:
            store: the ledger.
            run_id: the run.
            first: head of the run's first link; empty where it has none: then it is one of version 0.1.
        """
        key = self._keys.load(run_id)
        if not first:
            self._known[run_id] = Sealing(Mint(run_id, key, shared=store.durable), None)
            return
        own = worker_key(run_id, key)
        chain = self._chain(store, run_id, own, first)
        self._known[run_id] = Sealing(Mint(run_id, own), chain)
        try:
            await store.append(chain.later().open(worker=signer(run_id, own).public.hex))
        except BaseException:
            self._known.pop(run_id, None)  # nobody vouches for what it seals
            raise

    def _chain(self, store: Store, run_id: str, key: bytes, first: str = "") -> RunChain:
        heads = Heads(self._keys.heads_file(run_id), store.url) if isinstance(self._keys, FileKeys) else None
        return RunChain(signer(run_id, key), heads, first)
