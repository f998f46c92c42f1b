"""The ledger's records and the Store Protocol. Everything here is append-only: nothing is ever changed in place."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, runtime_checkable

from groundwire.core._contexts import EditStatistics, Lesson
from groundwire.core._experience import Experience
from groundwire.core._frozen import quickly_made
from groundwire.core._ids import new_id, now
from groundwire.core._signals import Signal, Verdict


class StopReason(StrEnum):
    """Why an episode ended."""

    VERIFIED = "verified"
    ALREADY_PASSING = "already_passing"
    INTERNAL_PASS = "internal_pass"
    """Passed tests that a model wrote; not verified."""
    HIDDEN_FAILED = "hidden_failed"
    HIDDEN_LEAK = "hidden_leak"
    """A text of the hidden tests was about to reach a model, a tool that steers, or memory."""
    EXHAUSTED = "exhausted"
    """The actor had nothing new to propose."""
    STUCK = "stuck"
    """The same answers again, also after escalation."""
    REFUSED = "refused"
    """The gate refused the signal; the admission says why."""
    NO_VERDICT = "no_verdict"
    BUDGET_TRIALS = "budget_trials"
    BUDGET_STEPS = "budget_steps"
    BUDGET_USD = "budget_usd"
    BUDGET_TOKENS = "budget_tokens"
    BUDGET_CALLS = "budget_calls"
    BUDGET_SECONDS = "budget_seconds"
    BUDGET_RUN = "budget_run"
    """All episodes of the run together have used what they may; the detail says of what."""
    BUDGET_REFINEMENTS = "budget_refinements"
    """Signals of one origin have opened as many refinements as they may (`Rules.refinements`)."""
    TOOL_EXHAUSTED = "tool_exhausted"
    """A tool failed as many times in a row as it may."""
    REJECTED = "rejected"
    """An answer was rejected as many times as it may be."""
    CONTRADICTION = "contradiction"
    """The actor says that a test contradicts the task; the detail says which, and why. Nothing was judged by that."""
    MODEL_ERROR = "model_error"
    STORAGE_ERROR = "storage_error"
    INTERNAL_ERROR = "internal_error"
    """A part of the graph (an actor, critic, tool or node of its user) raised an error; the detail says which."""
    INTERRUPTED = "interrupted"


@quickly_made
@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A run begins: many episodes with one configuration."""

    id: str = field(default_factory=new_id)
    graph: str = ""
    config: str = "{}"
    """Canonical JSON of what was asked for."""
    version: str = ""
    """groundwire's version."""
    created_at: str = field(default_factory=now)


@quickly_made
@dataclass(frozen=True, kw_only=True)
class RunEnd:
    """A run ended. A run without one was cut off, or goes on."""

    run_id: str
    created_at: str = field(default_factory=now)


class RunState(StrEnum):
    """How a run stands."""

    FINISHED = "finished"
    RUNNING = "running"
    """A process of this machine is at it now."""
    INTERRUPTED = "interrupted"
    """It has something left to do, and no process of this machine is at it."""


def run_state(config: str, *, is_held: bool, is_ended: bool, begun: int, unfinished: int) -> RunState:
    """How a run stands; one of an older version, which wrote no end, is finished where all its episodes are.

    Args:
        config: of its record.
        is_held: True if a process of this machine is at it (`FileKeys.is_held`).
        is_ended: True if its end is written.
        begun: its episodes.
        unfinished: those of them that have no end.
    """
    if is_held:
        return RunState.RUNNING
    if is_ended:
        return RunState.FINISHED
    asked: dict[str, Any] = json.loads(config or "{}")
    tasks: Sequence[object] = asked.get("suite", {}).get("tasks", ())
    is_whole = begun and not unfinished and begun >= len(tasks)
    return RunState.FINISHED if is_whole else RunState.INTERRUPTED


@quickly_made
@dataclass(frozen=True, kw_only=True)
class EpisodeRecord:
    """An episode begins: one task, all its trials."""

    id: str = field(default_factory=new_id)
    run_id: str
    task_id: str
    family: str = ""
    task: str = "{}"
    """`Task.describe()`."""
    base_digest: str = ""
    seed: int = 0
    created_at: str = field(default_factory=now)


@quickly_made
@dataclass(frozen=True, kw_only=True)
class EpisodeEnd:
    """An episode ended."""

    episode_id: str
    verdict: Verdict
    stop_reason: StopReason
    best_candidate: str = ""
    """Digest of the best verified candidate; empty where none is better than the base."""
    detail: str = ""
    created_at: str = field(default_factory=now)


@quickly_made
@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """A trial begins. (episode, trial) is unique: writing it again changes nothing."""

    episode_id: str
    trial: int
    lessons: tuple[str, ...] = ()
    """Ids of the lessons that were recalled for it."""
    escalation: int = 0
    created_at: str = field(default_factory=now)


@quickly_made
@dataclass(frozen=True, kw_only=True)
class Recall:
    """One lesson that a trial was given, and why. (episode, trial, lesson) is unique."""

    episode_id: str
    trial: int
    lesson_id: str
    rank: int
    """1: the first one in the prompt."""
    why: str = ""
    """See `Lesson.why`."""
    created_at: str = field(default_factory=now)


@quickly_made
@dataclass(frozen=True, kw_only=True)
class TrialEnd:
    """A trial came to this: the outcome that its lessons and its edits are measured by. (episode, trial) is unique.

    Hidden tests have no part in it, since what is measured steers later trials.
    """

    episode_id: str
    trial: int
    verdict: Verdict
    signal_id: str = ""
    """A signal that says so."""
    created_at: str = field(default_factory=now)


@quickly_made
@dataclass(frozen=True, kw_only=True)
class CandidateRecord:
    """A candidate, written before it is judged. (episode, digest) is unique."""

    episode_id: str
    trial: int
    digest: str
    actor: str = ""
    edits: tuple[str, ...] = ()
    note: str = ""
    artifact: str = ""
    """Digest of the artifact that holds its changes."""
    created_at: str = field(default_factory=now)


@quickly_made
@dataclass(frozen=True, kw_only=True)
class Admission:
    """The gate's answer about one signal. At most one admitted record may exist a signal."""

    id: str = field(default_factory=new_id)
    episode_id: str
    trial: int
    signal_id: str
    candidate_digest: str
    edge: str
    """`refine` or `advance`."""
    admitted: bool
    reason: str = ""
    """Why it was refused (`graphs.run.gate.Refusal`); empty where it was admitted."""
    created_at: str = field(default_factory=now)


@quickly_made
@dataclass(frozen=True, kw_only=True)
class ReflectionRecord:
    """A critic's text, verbatim, with what caused it; a lesson where a FAIL of this ledger stands behind it."""

    id: str = field(default_factory=new_id)
    episode_id: str
    trial: int
    signal_id: str
    candidate_digest: str
    task_id: str
    family: str = ""
    text: str
    raw: str = ""
    """What a person said, verbatim, where `text` was distilled from that."""
    by: str = ""
    """The critic: a model's id, a rule's name or a person's."""
    model: str = ""
    """The model that made the candidate which failed; empty where none did."""
    signature: str = ""
    """How it failed: `signatures.failure_signature` of the signal."""
    frames: tuple[str, ...] = ()
    """Where: `signatures.failure_frames` of the signal."""
    created_at: str = field(default_factory=now)


class Mark(StrEnum):
    """What was decided about a lesson."""

    QUARANTINED = "quarantined"
    """Kept, and no longer recalled."""
    RELEASED = "released"
    """Recalled again; what was measured before no longer counts against it."""
    FORGOTTEN = "forgotten"
    """Its text is gone."""


@quickly_made
@dataclass(frozen=True, kw_only=True)
class LessonMark:
    """A decision about a lesson, by a person or by the rule of usefulness; the last one holds."""

    lesson_id: str
    mark: Mark
    reason: str = ""
    by: str = ""
    created_at: str = field(default_factory=now)


@quickly_made
@dataclass(frozen=True, kw_only=True)
class Intent:
    """Written before a paid or visible effect. An intent without a result: the effect may have happened."""

    id: str = field(default_factory=new_id)
    episode_id: str
    trial: int
    kind: str
    """`model_call`, `program`, `judge`, `apply`; `hidden_access` (the hidden tests are laid out, the body says why),
    `model_tests` (the body holds the tests that a model wrote and what was dropped), `doubt` (a candidate passed, and
    the body says why it may be wrong all the same), `stands` (a candidate passed, and tests that a model wrote
    can't take that back), `contradiction` (an actor says that a test contradicts the task; the body says which, and
    why) or `reuse` (a recorded verdict is taken; the body says which)."""
    digest: str
    """Of the request or candidate."""
    body: str = ""
    usd: float | None = 0.0
    """The most that it can cost in US dollars; None where that is not known."""
    tokens: int = 0
    """The most tokens that it can use."""
    created_at: str = field(default_factory=now)


@quickly_made
@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """A model call's result; its intent holds the request."""

    intent_id: str
    episode_id: str
    trial: int
    model: str
    purpose: str = ""
    request_digest: str
    completion: str = ""
    """JSON of the `Completion`; empty where it failed."""
    error: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = None
    duration_s: float = 0.0
    reused: str = ""
    """The intent of the recorded call whose answer was taken again, for nothing; empty where the model was asked."""
    created_at: str = field(default_factory=now)


@quickly_made
@dataclass(frozen=True, kw_only=True)
class ProgramRun:
    """How a program ended that an actor ran; its intent holds the command and what it was given."""

    intent_id: str
    episode_id: str
    trial: int
    request_digest: str
    command: tuple[str, ...] = ()
    """As the user gave it, placeholders unfilled."""
    sandbox: str = ""
    """The kind it ran in; `subprocess`: as the user, on the host."""
    exit_code: int | None = None
    ended_by: str = ""
    """What ended it: a limit's name, `signal 9`; empty if it ended by itself."""
    stdout: str = ""
    """Head and tail of its standard output."""
    stderr: str = ""
    stdout_cut: int = 0
    """Bytes of standard output that were dropped."""
    stderr_cut: int = 0
    refused: tuple[str, ...] = ()
    """What it changed and may not, each as `reason: path`."""
    candidate: str = ""
    """Digest of the artifact that holds what it changed and may; empty where there is no such thing."""
    error: str = ""
    """Why it could not be run, or what it changed not be read."""
    cut_off: bool = False
    """True if the wait for it was given up, so that what it would have made is not known."""
    duration_s: float = 0.0
    created_at: str = field(default_factory=now)


@quickly_made
@dataclass(frozen=True, kw_only=True)
class Artifact:
    """A body known by its digest (a candidate's changes, a coverage map). Writing it again changes nothing."""

    digest: str
    kind: str
    body: bytes


class Covered(NamedTuple):
    """What a link says of one record."""

    kind: str
    """Its class."""
    key: str
    """What it is known by within its episode; empty where every one is kept."""
    digest: str
    """SHA-256 of what the store keeps of it."""


@quickly_made
@dataclass(frozen=True, kw_only=True)
class Link:
    """The end of one write: it covers the write's records and the link before (`groundwire.core._chain`)."""

    run_id: str
    episode_id: str
    """The run's own id where it is a link of the run."""
    number: int
    """Counted from 0 in its episode."""
    body: str
    """Canonical JSON."""
    seal: str
    """By the run's key, or by a worker's."""


@dataclass(frozen=True)
class OpenLink:
    """Stands, as the last record of one append, for the link over all others: the store closes it over what it keeps.

    Args:
        close: makes the link.
    """

    close: Callable[[Sequence[Covered]], Link]


def tree_key(digest: str) -> str:
    """Where the files of an episode's task are kept."""
    return f"tree-{digest}"


Record = (
    RunRecord
    | RunEnd
    | EpisodeRecord
    | EpisodeEnd
    | TrialRecord
    | Recall
    | TrialEnd
    | CandidateRecord
    | Signal
    | Admission
    | ReflectionRecord
    | LessonMark
    | Intent
    | ModelCall
    | ProgramRun
    | Artifact
    | Link
    | OpenLink
)


class Store(Protocol):
    """The append-only ledger and the lessons."""

    @property
    def durable(self) -> bool:
        """True if what was appended survives kill -9."""
        ...

    @property
    def url(self) -> str:
        """Where it is, without any password; for people."""
        ...

    async def append(self, *records: Record) -> None:
        """Writes records in one transaction, in order; when this returns they are kept.

        Records whose key is there already (trial, candidate, artifact) change nothing. A second *admitted* admission
        of one signal raises. Secrets are masked (`core._masking`); an artifact that is a candidate's body and
        holds one is not kept, since its digest would no longer be its own. An `OpenLink` at their end is closed over
        what is kept of the others.

        Raises:
            StorageError: not written; `StorageBusy` after bounded retries.
        """
        ...

    async def runs(self, *, prefix: str = "", limit: int = 50) -> Sequence[RunRecord]:
        """Runs whose id begins with `prefix`, newest first."""
        ...

    async def episodes(self, run_id: str, *, after: str = "", most: int | None = None) -> Sequence[EpisodeRecord]:
        """A run's episodes, oldest first.

        Args:
            run_id: the run.
            after: id of the run's episode behind which to begin; empty: at the first.
            most: how many at most; None: all.
        """
        ...

    async def ends(self, run_id: str) -> Sequence[RunEnd | EpisodeEnd]:
        """How a run ended, where it did, and then how each of its episodes did, oldest first."""
        ...

    async def records(self, episode_id: str) -> Sequence[Record]:
        """All of an episode's records but artifacts and links, in the order they were written."""
        ...

    async def links(self, run_id: str, of: str) -> Sequence[Link]:
        """The links of an episode, or the run's own (`of` is then its id), in the order they were written."""
        ...

    async def last_links(self, run_id: str) -> Sequence[Link]:
        """The last link of each of a run's episodes."""
        ...

    async def signal(self, signal_id: str) -> Signal:
        """One signal. Its seal is not verified here.

        Raises:
            RecordNotFound: there is none.
        """
        ...

    async def admitted(self, signal_id: str) -> Admission | None:
        """The admission that a signal opened, if any."""
        ...

    async def artifact(self, digest: str) -> bytes:
        """An artifact's body.

        Raises:
            RecordNotFound: there is none.
        """
        ...

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
        """Lessons for a trial, best first; the same ledger and the same question give the same answer.

        First what failed in the same way (the task's own, then its family's), then the task's own, newest first, then
        its family's, ranked. Quarantined, repeated and unbacked text never comes back. At most the newest 200 of a
        task, family or signature are looked at, however many there are.

        Args:
            task_id: the task.
            family: its family; empty: only its own lessons.
            signature: how it fails (`signatures.failure_signature`).
            frames: where it fails (`signatures.failure_frames`).
            text: what fails, in words; ranks the family's lessons.
            window: the most lessons wanted.
            max_tokens: tokens that they may have together, at 3.5 characters a token; one that does not fit is left
                out whole, and the next one is tried.

        Raises:
            StorageError: it can't be read.
            ModelError, ConfigError: from an embedder, where the store was given one.
        """
        ...

    async def lessons(self, ids: Sequence[str]) -> Sequence[Lesson]:
        """The lessons of these ids, in their order; those that were forgotten are left out."""
        ...

    async def answers(self, request_digest: str) -> Sequence[ModelCall]:
        """Recorded calls that were answered, of every run, oldest first; calls whose answer was reused are left out."""
        ...

    async def judgements(self, candidate_digest: str) -> Sequence[Signal]:
        """Signals about a candidate, of every run, oldest first. Their seals are not verified here."""
        ...

    async def edit_statistics(self, family: str, signature: str) -> EditStatistics:
        """Which edits paid: per edit name, candidates judged and candidates of these that passed.

        Args:
            family: the task's family; empty: that circle stays empty.
            signature: how its baseline fails; empty: likewise.
        """
        ...

    async def experience(self, family: str, task_id: str) -> Experience:
        """What is known of a world: where actions led, in trials that have ended with a verdict.

        Of each circle those rows that were seen last (`groundwire.core._experience.MOST`).

        Args:
            family: the task's family; empty: that circle stays empty.
            task_id: the task.
        """
        ...

    async def aclose(self) -> None:
        """Closes connections."""
        ...


EPISODES_AT_ONCE = 100
"""Episodes that are asked for at once: each holds its task, which may be long."""


async def episodes_of(store: Store, run_id: str) -> AsyncGenerator[EpisodeRecord]:
    """A run's episodes, oldest first, a page of them in memory at a time.

    Args:
        store: the ledger.
        run_id: the run.

    Raises:
        StorageError: the ledger can't be read.
    """
    after = ""
    while page := await store.episodes(run_id, after=after, most=EPISODES_AT_ONCE):
        after = page[-1].id
        for episode in page:
            yield episode


RECORDS_AT_ONCE = 2000
"""About how many records are read in one go."""
MOST_AT_ONCE = 16
"""Episodes in one go at most: what is asked for each time is then asked for less often by so much."""


@runtime_checkable
class BatchStore(Protocol):
    """A store that reads several episodes in one go."""

    async def records_of_each(self, episode_ids: Sequence[str]) -> Sequence[Sequence[Record]]:
        """What `Store.records` says of each of `MOST_AT_ONCE` episodes at most, in the order of their ids."""
        ...


def batch_size(before: int, records: int) -> int:
    """How many episodes to read in one go.

    Args:
        before: how many were read last.
        records: how many records these had.
    """
    return min(MOST_AT_ONCE, max(1, before * RECORDS_AT_ONCE // max(1, records)))


async def episodes_with_records(store: Store, run_id: str) -> AsyncGenerator[tuple[EpisodeRecord, Sequence[Record]]]:
    """A run's episodes with all that `Store.records` says of each, oldest first; a few of them in memory at a time.

    Args:
        store: the ledger; a `BatchStore` is asked for several episodes at once.
        run_id: the run.

    Raises:
        StorageError: the ledger can't be read.
    """
    if not isinstance(store, BatchStore):
        async for episode in episodes_of(store, run_id):
            yield episode, await store.records(episode.id)
        return
    size, after = 1, ""
    while page := await store.episodes(run_id, after=after, most=EPISODES_AT_ONCE):
        after = page[-1].id
        begin = 0
        while few := page[begin : begin + size]:
            told = await store.records_of_each([episode.id for episode in few])
            begin += len(few)
            size = batch_size(len(few), sum(map(len, told)))
            for of_one in zip(few, told, strict=True):
                yield of_one
