"""A store that lives as long as the process, with the semantics of the durable ones."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from groundwire.contexts import EditCounts, EditStatistics, Lesson
from groundwire.memory.mapping import check, key_of
from groundwire.memory.policy import COUNTED_ORIGINS, RECALL_SCAN, Picker, edit_counts, lesson_of
from groundwire.memory.refusals import admitted_already, no_artifact, no_signal
from groundwire.records import (
    Admission,
    Artifact,
    CandidateRecord,
    EpisodeRecord,
    Record,
    ReflectionRecord,
    RunEnd,
    RunRecord,
)
from groundwire.signals import Signal, Verdict
from groundwire.signatures import failure_signature

__all__ = ["InMemoryStore"]


class InMemoryStore:
    """See `groundwire.records.Store`. Nothing survives the process."""

    def __init__(self) -> None:
        # A person's sync wrapper may run another event loop in another thread.
        self._lock = threading.Lock()
        self._known: set[tuple[object, ...]] = set()
        self._runs: list[RunRecord] = []
        self._episodes: dict[str, EpisodeRecord] = {}
        self._by_episode: dict[str, list[Record]] = {}
        self._signals: dict[str, Signal] = {}
        self._admitted: dict[str, Admission] = {}
        self._artifacts: dict[str, bytes] = {}
        self._by_task: dict[str, list[ReflectionRecord]] = {}
        self._by_family: dict[str, list[ReflectionRecord]] = {}

    @property
    def durable(self) -> bool:
        """False: it ends with the process."""
        return False

    @property
    def url(self) -> str:
        """`memory:`."""
        return "memory:"

    async def append(self, *records: Record) -> None:
        """See `Store`.

        Raises:
            StorageError: a second admitted admission of a signal, or a number that no database can keep; nothing of
                the call was written.
        """
        with self._lock:
            opened: dict[str, Admission] = {}
            for record in records:
                check(record)
                if isinstance(record, Admission) and record.admitted:
                    first = self._admitted.get(record.signal_id) or opened.setdefault(record.signal_id, record)
                    if first.id != record.id:
                        raise admitted_already(self.url)
            for record in records:
                self._add(record)

    def _add(self, record: Record) -> None:
        key = key_of(record)
        if key is not None:
            if key in self._known:
                return
            self._known.add(key)
        match record:
            case RunRecord():
                self._runs.append(record)
            case Artifact():
                self._artifacts[record.digest] = bytes(record.body)
            case RunEnd():
                pass
            case EpisodeRecord():
                self._episodes[record.id] = record
                self._by_episode.setdefault(record.id, []).append(record)
            case _:
                self._by_episode.setdefault(record.episode_id, []).append(record)
        match record:
            case Signal():
                self._signals[record.id] = record
            case ReflectionRecord():
                self._by_task.setdefault(record.task_id, []).append(record)
                self._by_family.setdefault(record.family, []).append(record)
            case Admission(admitted=True):
                self._admitted[record.signal_id] = record
            case _:
                pass

    async def runs(self, *, prefix: str = "", limit: int = 50) -> Sequence[RunRecord]:
        """See `Store`."""
        with self._lock:
            matching = (run for run in reversed(self._runs) if run.id.startswith(prefix))
            return list(islice(matching, max(limit, 0)))

    async def episodes(self, run_id: str) -> Sequence[EpisodeRecord]:
        """See `Store`."""
        with self._lock:
            return [episode for episode in self._episodes.values() if episode.run_id == run_id]

    async def records(self, episode_id: str) -> Sequence[Record]:
        """See `Store`."""
        with self._lock:
            return list(self._by_episode.get(episode_id, ()))

    async def signal(self, signal_id: str) -> Signal:
        """See `Store`."""
        with self._lock:
            found = self._signals.get(signal_id)
        if found is None:
            raise no_signal(signal_id, self.url)
        return found

    async def admitted(self, signal_id: str) -> Admission | None:
        """See `Store`."""
        with self._lock:
            return self._admitted.get(signal_id)

    async def artifact(self, digest: str) -> bytes:
        """See `Store`."""
        with self._lock:
            found = self._artifacts.get(digest)
        if found is None:
            raise no_artifact(digest, self.url)
        return found

    async def recall(self, task_id: str, family: str, *, window: int = 3) -> Sequence[Lesson]:
        """See `Store`. Only reflections whose signal is in this ledger are lessons; an empty family shares none."""
        with self._lock:
            picker = Picker(window)
            picker.offer(self._backed(reversed(self._by_task.get(task_id, []))))
            if family and not picker.full:
                newest = reversed(self._by_family.get(family, []))
                picker.offer(self._backed(r for r in newest if r.task_id != task_id))
        return [lesson_of(reflection) for reflection in picker.picked]

    def _backed(self, newest: Iterable[ReflectionRecord]) -> Iterator[ReflectionRecord]:
        """Those that a signal of this ledger stands behind."""
        return islice((r for r in newest if r.signal_id in self._signals), RECALL_SCAN)

    async def edit_statistics(self, family: str, signature: str) -> EditStatistics:
        """See `Store`. Only signals from outside every model count, and none of hidden tests."""
        with self._lock:
            episodes = list(self._by_episode.items())
            alike = [records for _, records in episodes if signature and _baseline_fails(records, signature)]
            related = [records for key, records in episodes if family and self._family(key) == family]
            return EditStatistics(
                alike=_counts(alike), family=_counts(related), overall=_counts(records for _, records in episodes)
            )

    def _family(self, episode_id: str) -> str | None:
        episode = self._episodes.get(episode_id)
        return episode.family if episode else None

    async def aclose(self) -> None:
        """Nothing to close."""


def _counts(episodes: Iterable[Sequence[Record]]) -> EditCounts:
    return edit_counts(group for records in episodes for group in _judged(records))


def _baseline_fails(records: Sequence[Record], signature: str) -> bool:
    baselines = (r for r in records if isinstance(r, Signal) and r.trial == 0)
    return any(failure_signature(baseline.evidence) == signature for baseline in baselines)


def _judged(records: Sequence[Record]) -> Iterator[tuple[tuple[str, ...], int, int]]:
    passed: dict[str, bool] = {}
    for record in records:
        if isinstance(record, Signal) and record.origin in COUNTED_ORIGINS and record.verdict is not Verdict.NONE:
            digest = record.candidate_digest
            passed[digest] = passed.get(digest, False) or record.verdict is Verdict.PASS
    for record in records:
        if isinstance(record, CandidateRecord) and record.digest in passed:
            yield record.edits, 1, int(passed[record.digest])
