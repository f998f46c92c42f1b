"""The trajectories of whole runs, one episode's records in memory at a time; every flaw is named."""

from __future__ import annotations

import asyncio
import json
import shlex
from array import array
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any

from groundwire.core._candidates import Candidate
from groundwire.core._errors import CandidateError, ConfigError, RecordNotFound, SealError, UserError
from groundwire.core._masking import canaries_in, telling_lines, texts_of
from groundwire.core._records import EpisodeRecord, Record, RunRecord, Store, episodes_of, episodes_with_records
from groundwire.core._seal import FileKeys, Keys
from groundwire.core._tasks import Task
from groundwire.training._digests import short_digest
from groundwire.training._gathering import Gathered
from groundwire.training._grouping import Key, group_of
from groundwire.training._trajectories import Change, Trajectory

# A trajectory out of one episode's records; every flaw that it has is named.


async def read_trajectory(
    store: Store, run: RunRecord, episode: EpisodeRecord, *, keys: Keys | None = None
) -> Trajectory:
    """Reads one episode, however flawed it is; `Trajectory.problems` says what is wrong with it.

    Args:
        store: the ledger.
        run: the episode's run.
        episode: the episode.
        keys: where the runs' keys are; default: the user's own.

    Raises:
        StorageError: the ledger can't be read.
    """
    return await _told_by(store, run, episode, await store.records(episode.id), keys)


async def _told_by(
    store: Store, run: RunRecord, episode: EpisodeRecord, records: Sequence[Record], keys: Keys | None
) -> Trajectory:
    bodies: dict[str, Sequence[Change]] = {}
    reader = Gathered(run, episode, records, keys or FileKeys())
    for digest, artifact in reader.bodies():
        try:
            bodies[digest] = _changes(await store.artifact(artifact), digest)
        except RecordNotFound:
            reader.lacks(f"the body of candidate {digest[:12]}…")
        except (CandidateError, SealError) as error:
            reader.broken(error.what)
    return reader.trajectory(bodies)


def _changes(body: bytes, digest: str) -> Sequence[Change]:
    candidate = Candidate.from_bytes(body)
    if candidate.digest != digest:
        raise SealError(f"The body of candidate {digest[:12]}… is not the one that was judged.")
    return [
        Change(path=path, content=_text(content), deleted=content is None)
        for path, content in sorted(candidate.changes.items())
    ]


def _text(content: bytes | None) -> str | None:
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return None


# The trajectories of whole runs, one episode in memory at a time.

AT_ONCE = 16
"""Episodes that are read before any of them is handed on."""


async def trajectories_of(
    store: Store, runs: Sequence[RunRecord], *, keys: Keys | None = None
) -> AsyncGenerator[Trajectory]:
    """The episodes of runs, in their order, however flawed they are.

    Args:
        store: the ledger.
        runs: runs of it.
        keys: where the runs' keys are; default: the user's own.

    Raises:
        StorageError: the ledger can't be read.
    """
    for run in runs:
        async for episode, records in episodes_with_records(store, run.id):
            yield await _told_by(store, run, episode, records, keys)


class Trajectories:
    """The same for code that is not async. It may be gone through any number of times; each time reads the ledger anew.

    Args:
        store: the ledger.
        runs: runs of it.
        keys: where the runs' keys are; default: the user's own.
        progress: told after each episode how many have been read so far, those read again among them.
    """

    def __init__(
        self,
        store: Store,
        runs: Sequence[RunRecord],
        *,
        keys: Keys | None = None,
        progress: Callable[[int], None] = lambda _episodes: None,
    ) -> None:
        self._store = store
        self._runs = runs
        self._keys = keys
        self._progress = progress
        self._read = 0

    def __iter__(self) -> Iterator[Trajectory]:
        """One after the other.

        Raises:
            StorageError: the ledger can't be read.
            ConfigError: an event loop runs here.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._each()
        raise ConfigError(
            "Trajectories can't be gone through inside of a running event loop.",
            do="async for trajectory in trajectories_of(store, runs): …",
        )

    def in_groups(self, key: Key = group_of) -> Iterator[Sequence[Trajectory]]:
        """By group, one group in memory at a time: the ledger is read twice.

        Args:
            key: what episodes of one group have in common.

        Raises:
            StorageError, ConfigError: as above.
        """
        runs = {run.id: run for run in self._runs}
        places = _Places()
        for trajectory in self:
            places.add(trajectory.run, trajectory.episode, key(trajectory))
        with asyncio.Runner() as runner:
            for wanted in places.in_groups():
                alike: list[Trajectory] = []
                runner.run(self._read_again([(runs[run], episode) for run, episode in wanted], alike))
                # told apart by the keys themselves: the places know of each no more than eight bytes
                groups: dict[str, list[Trajectory]] = {}
                for trajectory in alike:
                    groups.setdefault(key(trajectory), []).append(trajectory)
                yield from groups.values()

    async def _read_again(self, episodes: Sequence[tuple[RunRecord, str]], into: list[Trajectory]) -> None:
        for run, episode_id in episodes:
            records = await self._store.records(episode_id)
            episode = next(record for record in records if isinstance(record, EpisodeRecord))
            into.append(await _told_by(self._store, run, episode, records, self._keys))
            self._count()

    def _count(self) -> None:
        self._read += 1
        self._progress(self._read)

    def _each(self) -> Iterator[Trajectory]:
        with asyncio.Runner() as runner:
            reading = trajectories_of(self._store, self._runs, keys=self._keys)
            few: list[Trajectory] = []
            try:
                while True:
                    runner.run(_read_on(reading, few))
                    if not few:
                        return
                    for trajectory in few:
                        self._count()
                        yield trajectory
                    few.clear()
            finally:
                runner.run(reading.aclose())


class _Places:
    """Where the episodes of each group are: by their ids, and eight bytes of each one's key."""

    def __init__(self) -> None:
        self._runs: list[str] = []
        self._episodes: list[str] = []
        self._keys = array("Q")

    def add(self, run: str, episode: str, key: str) -> None:
        """One more episode."""
        self._runs.append(run)
        self._episodes.append(episode)
        self._keys.append(short_digest(key))

    def in_groups(self) -> Iterator[Sequence[tuple[str, str]]]:
        """Runs and episodes of those whose keys are alike, in the order of their first episodes."""
        keys = self._keys
        alike = array("Q", sorted(range(len(keys)), key=keys.__getitem__))
        begins = [at for at, place in enumerate(alike) if not at or keys[place] != keys[alike[at - 1]]]
        for at in sorted(begins, key=alike.__getitem__):
            group = takewhile(lambda place, key=keys[alike[at]]: keys[place] == key, islice(alike, at, None))
            yield [(self._runs[place], self._episodes[place]) for place in group]


async def _read_on(reading: AsyncGenerator[Trajectory], into: list[Trajectory]) -> None:
    # not returned: what a task returns is put into words when a runner ends, however large it is
    async for trajectory in reading:
        into.append(trajectory)
        if len(into) >= AT_ONCE:
            return


async def hidden_texts_of(store: Store, runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """Canaries and telling lines of the hidden tests of these runs' tasks, where their folders still hold them.

    Raises:
        StorageError: the ledger can't be read.
    """
    found: dict[str, None] = {}
    looked: set[tuple[str, str]] = set()
    for run in runs:
        async for episode in episodes_of(store, run.id):
            task: dict[str, Any] = json.loads(episode.task)
            folder, hidden = task.get("folder"), task.get("hidden")
            if folder and hidden and (place := (folder, hidden["tree"])) not in looked:
                looked.add(place)
                found |= dict.fromkeys(await asyncio.to_thread(_hidden_texts, folder, hidden))
    return tuple(found)


def _hidden_texts(folder: str, hidden: Mapping[str, Any]) -> Sequence[str]:
    for command in (None, shlex.join(hidden["command"])):
        try:
            task = Task.from_folder(folder, hidden=command)
        except UserError:
            continue
        if task.hidden is not None and task.hidden.tree.digest == hidden["tree"]:
            shown = "\n".join(texts_of(task.tree))
            texts = list(texts_of(task.hidden.tree))
            return [text for text in (*canaries_in(texts), *telling_lines(texts)) if text not in shown]
    return ()
