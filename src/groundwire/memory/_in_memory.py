"""A store that lives as long as the process, with the semantics of the durable ones."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from itertools import chain, dropwhile, islice
from typing import Any, Generic, TypeVar, cast

from groundwire.core._candidates import Tree
from groundwire.core._contexts import EditCounts, EditStatistics, Lesson
from groundwire.core._environments import start_in
from groundwire.core._experience import Experience
from groundwire.core._masking import Masker, mask
from groundwire.core._models import Embedder
from groundwire.core._records import (
    Admission,
    Artifact,
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    LessonMark,
    Link,
    Mark,
    ModelCall,
    OpenLink,
    Recall,
    Record,
    ReflectionRecord,
    RunEnd,
    RunRecord,
    TrialEnd,
    tree_key,
)
from groundwire.core._scene import Scene
from groundwire.core._signals import Origin, Signal, Verdict
from groundwire.core._signatures import failure_signature
from groundwire.memory._experience import Experiences, steps_of
from groundwire.memory._lesson_book import LessonBook
from groundwire.memory._mapping import check, codec_of, covered, key_of, masked
from groundwire.memory._meaning import Meanings
from groundwire.memory._policy import COUNTED_ORIGINS, GIVEN_SCAN, Scope
from groundwire.memory._ranking import RecallQuery
from groundwire.memory._refusals import admitted_already, no_artifact, no_signal

R = TypeVar("R", bound=Record)

CONCLUDED: Mapping[type[Record], int] = {ReflectionRecord: 0, LessonMark: 1, TrialEnd: 2}
"""What something is concluded from, and in which order."""


class _Held(Generic[R]):
    """A record as it was given. Secrets are masked when somebody first asks for it: most are never read."""

    __slots__ = ("_masker", "_record")

    def __init__(self, record: R, masker: Masker) -> None:
        self._record: R | None = record
        self._masker: Masker | None = masker

    @property
    def kept(self) -> R | None:
        """As a ledger may keep it; None for what none keeps."""
        if self._masker is not None and self._record is not None:
            self._record = cast("R | None", masked(self._record, self._masker))
        self._masker = None
        return self._record

    @property
    def given(self) -> R:
        """As it was given, for what is no text of it."""
        assert self._record is not None, "only a candidate's body is dropped"
        return self._record

    @property
    def sure(self) -> R:
        """The same, of a kind that is always kept."""
        kept = self.kept
        assert kept is not None, "only a candidate's body is dropped"
        return kept


@dataclass(frozen=True, kw_only=True)
class _Ended:
    """A trial that ended: of which episode, what judged it, what judged the base tree, and whether it passed."""

    episode: _Held[EpisodeRecord]
    signals: Sequence[_Held[Signal]]
    baseline: Sequence[_Held[Signal]]
    passed: bool


class InMemoryStore:
    """See `groundwire.core._records.Store`. Nothing survives the process.

    Args:
        embedder: also ranks a family's lessons by their meaning; without one, words alone are compared.
    """

    def __init__(self, *, embedder: Embedder | None = None) -> None:
        self._meanings = Meanings(embedder) if embedder else None
        # A person's sync wrapper may run another event loop in another thread.
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._runs: list[_Held[RunRecord]] = []
        self._run_ends: dict[str, list[RunEnd]] = {}
        self._episodes: dict[str, _Held[EpisodeRecord]] = {}
        self._episodes_of: dict[str, list[_Held[EpisodeRecord]]] = {}
        """By run."""
        self._about_what: dict[str, tuple[str, str]] = {}
        """By episode: task and family, as lessons are looked up by them."""
        self._by_episode: dict[str, list[_Held[Any]]] = {}
        self._links: dict[tuple[str, str], list[Link]] = {}
        """By run and episode, or by the run twice."""
        # what a trial's end is concluded from, so that none looks through all that was written before it
        self._judged: dict[tuple[str, int], list[_Held[Signal]]] = {}
        """By episode and trial."""
        self._proposed: dict[tuple[str, str], _Held[CandidateRecord]] = {}
        """By episode and digest."""
        self._told: dict[tuple[str, int], list[str]] = {}
        """By episode and trial: lessons that it was given."""
        self._recalled: dict[str, list[str]] = {}
        """By episode: lessons that it was given, in order."""
        self._given: dict[str, Sequence[str]] = {}
        """By reflection: lessons that its episode was given before, the last ones first; until it is concluded from."""
        self._signals: dict[str, _Held[Signal]] = {}
        self._admitted: dict[str, Admission] = {}
        self._artifacts: dict[str, _Held[Artifact]] = {}
        self._about: dict[str, list[_Held[Signal]]] = {}
        self._answers: dict[str, list[_Held[ModelCall]]] = {}
        self._book = LessonBook()
        self._ended: list[_Ended] = []
        """Trials that `_edits` and `_experiences` do not know of yet."""
        self._edits = _Edits()
        self._experiences = Experiences()
        self._number = 0
        self._forgotten: set[str] = set()

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
        masker = Masker()
        given: list[Record] = []
        for record in records:
            if isinstance(record, OpenLink):
                kept = [safe for one in given if (safe := masked(one, masker)) is not None]
                record = record.close([covered(codec_of(one), codec_of(one).encode(one)) for one in kept])
            check(record)
            given.append(record)
        with self._lock:
            opened: dict[str, Admission] = {}
            for record in given:
                if isinstance(record, Admission) and record.admitted:
                    first = self._admitted.get(record.signal_id) or opened.setdefault(record.signal_id, record)
                    if first.id != record.id:
                        raise admitted_already(self.url)
            fresh = [record for record in given if self._add(record, masker)]
            # as in the durable store: what is concluded follows after all of the call was written
            for record in sorted((r for r in fresh if type(r) in CONCLUDED), key=lambda r: CONCLUDED[type(r)]):
                self._conclude(record, masker)
        learned = {record.id for record in fresh if isinstance(record, ReflectionRecord)}
        if learned and self._meanings:
            # the records are kept, whatever comes of this; what is missing is filled in, or complained of, at recall
            with suppress(Exception):
                await self._fill(self._meanings, learned)

    async def _fill(self, meanings: Meanings, wanted: RecallQuery | set[str]) -> None:
        """Has vectors for what a question would look at, or for the lessons of these ids."""
        with self._lock:
            texts = self._book.without_vector(wanted)
        async with aclosing(meanings.in_batches(texts)) as batches:
            async for vectors in batches:
                with self._lock:
                    self._book.keep_vectors(vectors)

    def _add(self, record: Record, masker: Masker) -> bool:
        """Keeps a record; False where it was there already."""
        key = key_of(record)
        if key is not None:
            if key in self._known:
                return False
            if isinstance(record, ReflectionRecord) and record.id in self._forgotten:
                return False
            self._known.add(key)
        held: _Held[Any] = _Held(record, masker)
        match record:
            case RunRecord():
                self._runs.append(held)
            case Artifact():
                self._artifacts[record.digest] = held
            case RunEnd():
                self._run_ends.setdefault(record.run_id, []).append(record)
            case LessonMark() | OpenLink():
                pass
            case Link():
                self._links.setdefault((record.run_id, record.episode_id), []).append(record)
            case EpisodeRecord():
                self._episodes[record.id] = held
                self._about_what[record.id] = masker(record.task_id), masker(record.family)
                self._episodes_of.setdefault(record.run_id, []).append(held)
                self._by_episode.setdefault(record.id, []).append(held)
            case _:
                self._by_episode.setdefault(record.episode_id, []).append(held)
        match record:
            case CandidateRecord():
                self._proposed[record.episode_id, record.digest] = held
            case Recall():
                self._told.setdefault((record.episode_id, record.trial), []).append(record.lesson_id)
                self._recalled.setdefault(record.episode_id, []).append(record.lesson_id)
            case ReflectionRecord():
                self._given[record.id] = self._recalled.get(record.episode_id, [])[-GIVEN_SCAN:][::-1]
            case Signal():
                self._judged.setdefault((record.episode_id, record.trial), []).append(held)
                self._signals[record.id] = held
                self._about.setdefault(record.candidate_digest, []).append(held)
            case ModelCall():
                if record.completion and not record.reused:
                    self._answers.setdefault(record.request_digest, []).append(held)
            case Admission(admitted=True):
                self._admitted[record.signal_id] = record
            case _:
                pass
        return True

    def _conclude(self, record: Record, masker: Masker) -> None:
        self._number += 1
        match record:
            case ReflectionRecord():
                given = self._given.pop(record.id)
                behind = self._signals.get(record.signal_id)
                signal = behind.given if behind else None  # its verdict and origin are asked for
                self._book.learn(self._number, _Held(record, masker).sure, signal, given)
            case LessonMark():
                self._decide(_Held(record, masker).sure)
            case TrialEnd():
                self._settle(record)
            case _:
                raise AssertionError(record)

    def _settle(self, end: TrialEnd) -> None:
        episode = self._episodes.get(end.episode_id)
        if episode is None or end.verdict is Verdict.NONE:
            return
        given = self._told.get((end.episode_id, end.trial), ())
        passed = end.verdict is Verdict.PASS
        for mark in self._book.settle(self._number, self._about_what[end.episode_id], given, passed=passed):
            self._decide(mark)
        signals = tuple(self._judged.get((end.episode_id, end.trial), ()))
        baseline = tuple(self._judged.get((end.episode_id, 0), ()))
        self._ended.append(_Ended(episode=episode, signals=signals, baseline=baseline, passed=passed))

    def _count(self) -> None:
        """Counts what ended trials tell of edits and of the world; most runs never ask for it."""
        for ended in self._ended:
            episode = ended.episode.sure
            signals = [signal.sure for signal in ended.signals]
            verdicts = _verdicts(signals).items()
            known = ((self._proposed.get((episode.id, digest)), passed) for digest, passed in verdicts)
            judged = ((candidate.sure.edits, passed) for candidate, passed in known if candidate is not None)
            self._edits.add(judged, [signal.sure for signal in ended.baseline], episode.family)
            said = [signal for signal in signals if signal.origin is Origin.ENVIRONMENT]
            steps = steps_of(self._start_of(episode), said, self._body, won=ended.passed)
            self._experiences.add(steps, episode.task_id, episode.family)
        self._ended.clear()

    def _body(self, digest: str) -> bytes | None:
        held = self._artifacts.get(digest)
        kept = held.kept if held else None
        return bytes(kept.body) if kept else None

    def _start_of(self, episode: EpisodeRecord) -> Scene | None:
        body = self._body(tree_key(episode.base_digest))
        start = start_in(Tree.from_bytes(body)) if body else None
        return start.scene if start else None

    def _decide(self, mark: LessonMark) -> None:
        self._book.decide(mark)
        if mark.mark is Mark.FORGOTTEN:
            self._forgotten.add(mark.lesson_id)
            for records in self._by_episode.values():
                records[:] = [r for r in records if not _is_lesson(r.sure, mark.lesson_id)]

    async def runs(self, *, prefix: str = "", limit: int = 50) -> Sequence[RunRecord]:
        """See `Store`."""
        with self._lock:
            matching = (run for held in reversed(self._runs) if (run := held.sure).id.startswith(prefix))
            return list(islice(matching, max(limit, 0)))

    async def episodes(self, run_id: str, *, after: str = "", most: int | None = None) -> Sequence[EpisodeRecord]:
        """See `Store`."""
        with self._lock:
            found = (episode.sure for episode in self._episodes_of.get(run_id, ()))
            if after:
                found = islice(dropwhile(lambda episode: episode.id != after, found), 1, None)
            return list(islice(found, most))

    async def ends(self, run_id: str) -> Sequence[RunEnd | EpisodeEnd]:
        """See `Store`."""
        with self._lock:
            mine = [self._by_episode[episode.sure.id] for episode in self._episodes_of.get(run_id, ())]
            episodes = [record for held in chain(*mine) if isinstance(record := held.sure, EpisodeEnd)]
            return [*self._run_ends.get(run_id, ()), *episodes]

    async def records(self, episode_id: str) -> Sequence[Record]:
        """See `Store`."""
        with self._lock:
            return [record.sure for record in self._by_episode.get(episode_id, ())]

    async def links(self, run_id: str, of: str) -> Sequence[Link]:
        """See `Store`."""
        with self._lock:
            return list(self._links.get((run_id, of), ()))

    async def last_links(self, run_id: str) -> Sequence[Link]:
        """See `Store`."""
        with self._lock:
            return [links[-1] for (run, of), links in self._links.items() if run == run_id != of]

    async def signal(self, signal_id: str) -> Signal:
        """See `Store`."""
        with self._lock:
            found = self._signals.get(signal_id)
            if found is None:
                raise no_signal(signal_id, self.url)
            return found.sure

    async def admitted(self, signal_id: str) -> Admission | None:
        """See `Store`."""
        with self._lock:
            return self._admitted.get(signal_id)

    async def artifact(self, digest: str) -> bytes:
        """See `Store`."""
        with self._lock:
            found = self._body(digest)
        if found is None:
            raise no_artifact(digest, self.url)
        return found

    async def recall(
        self,
        task_id: str,
        family: str,
        *,
        signature: str = "",
        frames: Sequence[str] = (),
        text: str = "",
        window: int = 3,
        max_tokens: int = 2000,
    ) -> Sequence[Lesson]:
        """See `Store`."""
        if window <= 0:
            return []
        question = RecallQuery.of(task_id, family, signature, frames, text, window, max_tokens)
        asked = b""
        if self._meanings and question.by_meaning:
            await self._fill(self._meanings, question)
            asked = await self._meanings.of_question(question.text)
        with self._lock:
            return self._book.recall(question, asked)

    async def lessons(self, ids: Sequence[str]) -> Sequence[Lesson]:
        """See `Store`."""
        with self._lock:
            return self._book.lessons(ids)

    async def answers(self, request_digest: str) -> Sequence[ModelCall]:
        """See `Store`."""
        with self._lock:
            return [answer.sure for answer in self._answers.get(request_digest, ())]

    async def judgements(self, candidate_digest: str) -> Sequence[Signal]:
        """See `Store`."""
        with self._lock:
            return [signal.sure for signal in self._about.get(candidate_digest, ())]

    async def edit_statistics(self, family: str, signature: str) -> EditStatistics:
        """See `Store`."""
        with self._lock:
            self._count()
            return EditStatistics(
                alike=self._edits.counts(Scope.SIGNATURE, mask(signature)) if signature else {},
                family=self._edits.counts(Scope.FAMILY, mask(family)) if family else {},
                overall=self._edits.counts(Scope.ALL, ""),
            )

    async def experience(self, family: str, task_id: str) -> Experience:
        """See `Store`."""
        with self._lock:
            self._count()
            return self._experiences.given(mask(family), mask(task_id))

    async def aclose(self) -> None:
        """Nothing to close."""


def _is_lesson(record: Record, lesson_id: str) -> bool:
    return isinstance(record, ReflectionRecord) and record.id == lesson_id


class _Edits:
    """Per circle and edit name: candidates that used it, candidates of these that passed."""

    def __init__(self) -> None:
        self._counts: dict[tuple[Scope, str], dict[str, tuple[int, int]]] = {}

    def counts(self, scope: Scope, key: str) -> EditCounts:
        return dict(sorted(self._counts.get((scope, key), {}).items()))

    def add(self, judged: Iterable[tuple[tuple[str, ...], bool]], baseline: Sequence[Signal], family: str) -> None:
        """Counts what one trial of an episode judged.

        Args:
            judged: of each candidate that the trial gave a verdict on, its edits, and whether it passed.
            baseline: the signals of trial 0.
            family: the task's.
        """
        signatures = {failure_signature(signal.evidence) for signal in baseline}
        circles = [(Scope.ALL, ""), *((Scope.SIGNATURE, kind) for kind in signatures if kind)]
        circles += [(Scope.FAMILY, family)] if family else []
        for edits, passed in judged:
            for circle in circles:
                counts = self._counts.setdefault(circle, {})
                for edit in set(edits):
                    was = counts.get(edit, (0, 0))
                    counts[edit] = (was[0] + 1, was[1] + passed)


def _verdicts(signals: Sequence[Signal]) -> dict[str, bool]:
    """By candidate, whether it passed, where a trial's signals give a verdict that counts."""
    passed: dict[str, bool] = {}
    for signal in signals:
        if signal.origin in COUNTED_ORIGINS and signal.verdict is not Verdict.NONE:
            digest = signal.candidate_digest
            passed[digest] = passed.get(digest, False) or signal.verdict is Verdict.PASS
    return passed
