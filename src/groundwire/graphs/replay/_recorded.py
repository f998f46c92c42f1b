"""What an episode's ledger holds, played in the place of models, programs, tools and memory."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import dropwhile
from typing import Any

from groundwire.core import _errors as errors
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import EditStatistics, Lesson
from groundwire.core._errors import (
    GroundwireError,
    ModelRejected,
    ModelReplyInvalid,
    RecordingMissing,
    RecordNotFound,
    SealError,
    Usage,
)
from groundwire.core._experience import Experience
from groundwire.core._models import Completion
from groundwire.core._programs import ProgramResult
from groundwire.core._records import (
    CandidateRecord,
    EpisodeEnd,
    Intent,
    ModelCall,
    ProgramRun,
    Recall,
    Record,
    Store,
    TrialRecord,
)
from groundwire.core._signals import Observation, Origin, Signal

COVERAGE = "coverage-"
"""Before the signal's id: the artifact with the coverage that came with it."""
NEVER_ANSWERED_S = 5.0
"""How long a call waits that was cancelled when it was recorded, to be cancelled again."""

Key = tuple[int, str]
"""Trial, and digest of a request or candidate."""


class RecordedObservation(Observation):
    """Complete as it stands: several looks were reconciled, and what is hidden was withheld, when it was recorded."""


_OBSERVED = tuple(name for name in Observation.model_fields if name in Signal.model_fields)
_RESULT = tuple(field.name for field in fields(ProgramResult) if field.name != "candidate")


class Recordings:
    """One episode's records, played back: each model call and program by its request and how often that was asked, each
    signal by trial, tool node and candidate, each lesson by its trial.

    Args:
        records: the episode's, in order.
        source: the ledger, for bodies.
        lessons: those that it recalled, by id.
        revisions: by node, of the actors that the run was made with, where it is not the first one.
    """

    def __init__(
        self,
        records: Sequence[Record],
        source: Store,
        lessons: Mapping[str, Lesson],
        revisions: Mapping[str, int] | None = None,
    ) -> None:
        self._source = source
        self._revisions = revisions or {}
        self._proposed: dict[Key, list[CandidateRecord]] = {}
        self._asked_for: dict[tuple[int, str, str], Sequence[Intent]] = {}
        self._asked_in: dict[int, list[Intent]] = {}
        self._escalations = {r.trial: r.escalation for r in records if isinstance(r, TrialRecord)}
        self._end = next((r for r in reversed(records) if isinstance(r, EpisodeEnd)), None)
        self._lessons = lessons
        self._recalled: dict[int, list[Recall]] = {}
        self._calls: dict[Key, deque[ModelCall]] = {}
        self._programs: dict[Key, deque[ProgramRun]] = {}
        self._signals: dict[tuple[int, str, str], deque[Signal]] = {}
        self._numbers: dict[str, int] = {}
        self._doubts: dict[Key, str] = {}
        self._reused: dict[str, Intent] = {}
        self._asked_before: dict[str, Sequence[Intent]] = {}
        self._lost: dict[Key, list[Intent]] = {}
        self._told: set[Key] = set()
        self._intents = {r.id: r for r in records if isinstance(r, Intent)}
        ended = {
            r.intent_id for r in records if isinstance(r, ModelCall) or (isinstance(r, ProgramRun) and not r.cut_off)
        }
        made = [record for record in records if isinstance(record, ModelCall)]
        unread = made[-1:] if made and made[-1].error.startswith(f"{ModelReplyInvalid.__name__}:") else []
        # an answer that could not be read ended the episode, where nothing else was asked or judged behind it
        behind = dropwhile(lambda record: record is not unread[0], records) if unread else ()
        went_on = any(isinstance(record, Intent | Signal) for record in behind)
        self._last_call = unread[0] if unread and not went_on else None
        self._played: ModelCall | None = None
        asked: list[Intent] = []
        reuse: Intent | None = None
        for record in records:
            match record:
                case ModelCall():
                    self._calls.setdefault((record.trial, record.request_digest), deque()).append(record)
                case ProgramRun(cut_off=False):
                    self._programs.setdefault((record.trial, record.request_digest), deque()).append(record)
                case Intent(kind="model_call") if record.id in ended:
                    asked.append(record)
                    self._asked_in.setdefault(record.trial, []).append(record)
                case Intent(kind="model_call"):
                    self._lost.setdefault((record.trial, record.digest), []).append(record)
                case Intent(kind="doubt"):
                    self._doubts[record.trial, record.digest] = record.body
                case Intent(kind="reuse"):
                    reuse = record
                case CandidateRecord():
                    self._proposed.setdefault((record.trial, record.actor), []).append(record)
                    self._asked_for[record.trial, record.actor, record.digest] = tuple(asked)
                case Recall():
                    self._recalled.setdefault(record.trial, []).append(record)
                case Signal() if record.origin is not Origin.RULE:
                    place = (record.trial, record.issuer, record.candidate_digest)
                    self._signals.setdefault(place, deque()).append(record)
                    self._numbers[record.id] = len(self._numbers)
                    self._asked_before[record.id] = tuple(asked)
                    if reuse is not None and reuse.digest == record.candidate_digest:
                        self._reused[record.id], reuse = reuse, None
                    asked = []
                case _:
                    asked = []

    # --- actors

    def revision(self, actor: str) -> int:
        """Of that node's actor, as the run was made (`ActorTraits.revision`)."""
        return self._revisions.get(actor, 1)

    async def proposed(self, trial: int, actor: str) -> list[Candidate]:
        """What that node's actor proposed in a trial."""
        records = self._proposed.get((trial, actor), ())
        return [
            replace(Candidate.from_bytes(await self._source.artifact(r.artifact)), edits=r.edits, note=r.note)
            for r in records
        ]

    def asked_for(self, trial: int, actor: str, digest: str) -> Sequence[Intent]:
        """The model calls that were made before that actor proposed that candidate, as far as nobody has made them
        again."""
        return self._left(self._asked_for.get((trial, actor, digest), ()))

    def asked_in(self, trial: int) -> Sequence[Intent]:
        """The model calls of a trial that nobody has made again."""
        return self._left(self._asked_in.get(trial, ()))

    def _left(self, intents: Iterable[Intent]) -> Sequence[Intent]:
        return [intent for intent in intents if self._calls.get((intent.trial, intent.digest))]

    def ended_with(self) -> tuple[str, str]:
        """Why the episode ended, and what was said of it; empty where it was cut off."""
        return (self._end.stop_reason, self._end.detail) if self._end else ("", "")

    def escalated(self, trial: int, before: int) -> int:
        """How far a trial had escalated when it had something new; `before`: when it began. Its next trial tells, which
        begins as far, one further where it did not move, or at 0."""
        after = self._escalations.get(trial + 1, before)
        return after if after > before + 1 else before

    # --- models

    def intent(self, trial: int, digest: str) -> Intent | None:
        """The intent of the next call of that request, with what it could cost at most; None where none is recorded."""
        calls = self._calls.get((trial, digest))
        return self._intents.get(calls[0].intent_id) if calls else None

    def lost(self, trial: int, digest: str) -> Sequence[Intent]:
        """Calls of that request that were under way when a process ended; each is told of once."""
        if (trial, digest) in self._told:
            return ()
        self._told.add((trial, digest))
        return self._lost.get((trial, digest), ())

    def ended_before(self, trial: int, digest: str) -> GroundwireError | None:
        """The error that ended the recorded episode, where that request would come behind it: an actor of a version
        that asked no second time after an answer which could not be read. None where the request was made."""
        last = self._last_call
        if last is None or self._calls.get((trial, digest)) or (trial, digest) in self._lost:
            return None
        return ModelRejected(last.error.partition(": ")[2]) if self._played is last else None

    def reused(self, trial: int, digest: str) -> ModelCall | None:
        """The next call of that request, if its answer was not asked for but taken from the ledger."""
        calls = self._calls.get((trial, digest))
        return calls.popleft() if calls and calls[0].reused else None

    async def answer(self, trial: int, digest: str) -> Completion:
        """What was answered to that request the next time it was asked in that trial.

        Raises:
            GroundwireError: the error that came in its place.
            RecordingMissing: nothing is recorded.
        """
        calls = self._calls.get((trial, digest))
        if not calls:
            if (trial, digest) in self._lost:
                # it was cancelled, since another one failed: that one fails again and cancels this one
                await asyncio.sleep(NEVER_ANSWERED_S)
            raise RecordingMissing(
                f"The ledger holds no answer to request {digest[:12]}… in trial {trial}. Nobody was asked.",
                do="The graph, the prompts or the version of groundwire are not those of the run.",
            )
        self._played = call = calls.popleft()
        if not call.completion or call.error:
            raise _error(call)
        return Completion.model_validate_json(call.completion)

    # --- programs

    async def program(self, trial: int, digest: str) -> ProgramResult:
        """How a program ended.

        Raises:
            RecordingMissing: no such run is recorded.
            SealError: what it made is not what was recorded.
        """
        runs = self._programs.get((trial, digest))
        if not runs:
            raise RecordingMissing(f"The ledger holds no such run of a program in trial {trial}. Nothing was run.")
        run = runs.popleft()
        made = Candidate.from_bytes(await self._source.artifact(run.candidate)) if run.candidate else None
        if made is not None and made.digest != run.candidate:
            raise SealError(f"The body of candidate {run.candidate[:12]}… is not the one that was recorded.")
        return ProgramResult(candidate=made, **{name: getattr(run, name) for name in _RESULT})

    # --- tools

    def look(self, trial: int, issuer: str, digest: str) -> Signal | None:
        """What that tool node saw of that candidate; the next look, where it looked several times."""
        looks = self._signals.get((trial, issuer, digest))
        return looks.popleft() if looks else None

    def in_order(self, trial: int, issuer: str, digests: Iterable[str]) -> Sequence[str]:
        """Of these candidates those whose next look is recorded, in the order in which they were looked at."""
        known = {d: looks[0].id for d in digests if (looks := self._signals.get((trial, issuer, d)))}
        return sorted(known, key=lambda digest: self._numbers[known[digest]])

    async def observation(self, signal: Signal) -> RecordedObservation:
        """What a recorded signal was minted from, with its coverage."""
        return RecordedObservation(**observed(signal), coverage=await self._coverage(signal.id))

    def asked_before(self, signal: Signal) -> Sequence[Intent]:
        """The model calls that a tool had made before it saw that, as far as nobody has made them again."""
        return self._left(self._asked_before[signal.id])

    def reused_for(self, signal: Signal) -> Intent | None:
        """What the ledger says of from where that verdict was taken; None where the tool judged."""
        return self._reused.get(signal.id)

    def doubt(self, trial: int, digest: str) -> str:
        """What was doubted about a candidate that passed; empty where nothing was."""
        return self._doubts.get((trial, digest), "")

    async def _coverage(self, signal_id: str) -> Any:
        try:
            return json.loads(await self._source.artifact(f"{COVERAGE}{signal_id}"))
        except RecordNotFound:
            return None

    # --- memory

    def recalled(self, trial: int) -> list[Lesson]:
        """The lessons that the trial was given, best first."""
        ranked = sorted(self._recalled.get(trial, ()), key=lambda recall: recall.rank)
        return [replace(self._lessons[recall.lesson_id], why=recall.why) for recall in ranked]

    def lessons(self, ids: Sequence[str]) -> list[Lesson]:
        """Lessons that the episode was given, by their ids."""
        return [self._lessons[lesson_id] for lesson_id in ids if lesson_id in self._lessons]

    async def statistics(self, episode_id: str, trial: int) -> EditStatistics:
        """Which edits had paid by then."""
        try:
            return read_statistics(await self._source.artifact(statistics_key(episode_id, trial)))
        except RecordNotFound:
            return EditStatistics()

    async def experience(self, episode_id: str, trial: int) -> Experience:
        """What was known of the world by then."""
        try:
            return Experience.from_bytes(await self._source.artifact(experience_key(episode_id, trial)))
        except RecordNotFound:
            return Experience()


def observed(signal: Signal) -> dict[str, Any]:
    """The fields of the observation that a signal was minted from."""
    return {name: getattr(signal, name) for name in _OBSERVED}


def statistics_key(episode_id: str, trial: int) -> str:
    """Where the statistics are kept that a trial was given."""
    return f"statistics-{episode_id}-{trial}"


def experience_key(episode_id: str, trial: int) -> str:
    """Where the experience is kept that a trial was given."""
    return f"experience-{episode_id}-{trial}"


def read_statistics(body: bytes) -> EditStatistics:
    """Reads them back."""
    circles = ({edit: (used, passed) for edit, (used, passed) in circle.items()} for circle in json.loads(body))
    return EditStatistics(*circles)


def _error(call: ModelCall) -> GroundwireError:
    """The error that a failed call holds; of a class that this version does not know, one that is never retried."""
    name, _, what = call.error.partition(": ")
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, errors.HiddenLeak):
        return kind(what)
    error: errors.ModelError = ModelRejected(call.error)
    if isinstance(kind, type) and issubclass(kind, errors.ModelError):
        error = kind(what)
    if call.prompt_tokens or call.completion_tokens:
        error.used = Usage(call.prompt_tokens, call.completion_tokens, call.usd)
    return error
