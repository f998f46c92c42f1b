"""The trajectories of whole runs, one episode's records in memory at a time; every flaw is named."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any

from groundwire.core._candidates import Candidate
from groundwire.core._errors import CandidateError, ConfigError, RecordNotFound, SealError, UserError
from groundwire.core._masking import canaries_in, telling_lines, texts_of
from groundwire.core._records import EpisodeRecord, RunRecord, Store
from groundwire.core._seal import FileKeys, Keys
from groundwire.core._tasks import Task
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
    records = await store.records(episode.id)
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
        for episode in await store.episodes(run.id):
            yield await read_trajectory(store, run, episode, keys=keys)


class Trajectories:
    """The same for code that is not async. It may be gone through any number of times; each time reads the ledger anew.

    Args:
        store: the ledger.
        runs: runs of it.
        keys: where the runs' keys are; default: the user's own.
    """

    def __init__(self, store: Store, runs: Sequence[RunRecord], *, keys: Keys | None = None) -> None:
        self._store = store
        self._runs = runs
        self._keys = keys

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
        places: dict[str, list[int]] = {}
        for place, trajectory in enumerate(self):
            places.setdefault(key(trajectory), []).append(place)
        with asyncio.Runner() as runner:
            episodes: list[tuple[RunRecord, EpisodeRecord]] = []
            runner.run(self._list(episodes))
            for wanted in places.values():
                group: list[Trajectory] = []
                runner.run(self._read([episodes[place] for place in wanted], group))
                yield group

    async def _list(self, into: list[tuple[RunRecord, EpisodeRecord]]) -> None:
        into.extend([(run, episode) for run in self._runs for episode in await self._store.episodes(run.id)])

    async def _read(self, episodes: Sequence[tuple[RunRecord, EpisodeRecord]], into: list[Trajectory]) -> None:
        for run, episode in episodes:
            into.append(await read_trajectory(self._store, run, episode, keys=self._keys))

    def _each(self) -> Iterator[Trajectory]:
        with asyncio.Runner() as runner:
            reading = trajectories_of(self._store, self._runs, keys=self._keys)
            few: list[Trajectory] = []
            try:
                while True:
                    runner.run(_read_on(reading, few))
                    if not few:
                        return
                    yield from few
                    few.clear()
            finally:
                runner.run(reading.aclose())


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
        for episode in await store.episodes(run.id):
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
