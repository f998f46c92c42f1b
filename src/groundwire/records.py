"""The ledger's records and the Store Protocol. Everything here is append-only: nothing is ever changed in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from groundwire.contexts import EditStatistics, Lesson
from groundwire.ids import new_id, now
from groundwire.signals import Signal, Verdict

__all__ = [
    "Admission",
    "Artifact",
    "CandidateRecord",
    "EpisodeEnd",
    "EpisodeRecord",
    "Intent",
    "ModelCall",
    "Record",
    "ReflectionRecord",
    "RunEnd",
    "RunRecord",
    "StopReason",
    "Store",
    "TrialRecord",
]


class StopReason(StrEnum):
    """Why an episode ended."""

    VERIFIED = "verified"
    ALREADY_PASSING = "already_passing"
    INTERNAL_PASS = "internal_pass"
    """Passed tests that a model wrote; not verified."""
    HIDDEN_FAILED = "hidden_failed"
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
    BUDGET_SECONDS = "budget_seconds"
    MODEL_ERROR = "model_error"
    STORAGE_ERROR = "storage_error"
    INTERRUPTED = "interrupted"


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


@dataclass(frozen=True, kw_only=True)
class RunEnd:
    """A run ended. A run without one was cut off, or goes on."""

    run_id: str
    created_at: str = field(default_factory=now)


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


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """A trial begins. (episode, trial) is unique: writing it again changes nothing."""

    episode_id: str
    trial: int
    lessons: tuple[str, ...] = ()
    """Ids of the lessons that were recalled for it."""
    escalation: int = 0
    created_at: str = field(default_factory=now)


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
    """Why it was refused (`graphs.gate.Refusal`); empty where it was admitted."""
    created_at: str = field(default_factory=now)


@dataclass(frozen=True, kw_only=True)
class ReflectionRecord:
    """A critic's text, verbatim, with what caused it."""

    id: str = field(default_factory=new_id)
    episode_id: str
    trial: int
    signal_id: str
    candidate_digest: str
    task_id: str
    family: str = ""
    text: str
    by: str = ""
    created_at: str = field(default_factory=now)


@dataclass(frozen=True, kw_only=True)
class Intent:
    """Written before a paid or visible effect. An intent without a result: the effect may have happened."""

    id: str = field(default_factory=new_id)
    episode_id: str
    trial: int
    kind: str
    """`model_call`, `judge` or `apply`."""
    digest: str
    """Of the request or candidate."""
    body: str = ""
    created_at: str = field(default_factory=now)


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
    created_at: str = field(default_factory=now)


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """A body known by its digest (a candidate's changes, a coverage map). Writing it again changes nothing."""

    digest: str
    kind: str
    body: bytes


Record = (
    RunRecord
    | RunEnd
    | EpisodeRecord
    | EpisodeEnd
    | TrialRecord
    | CandidateRecord
    | Signal
    | Admission
    | ReflectionRecord
    | Intent
    | ModelCall
    | Artifact
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
        of one signal raises.

        Raises:
            StorageError: not written; `StorageBusy` after bounded retries.
        """
        ...

    async def runs(self, *, prefix: str = "", limit: int = 50) -> Sequence[RunRecord]:
        """Runs whose id begins with `prefix`, newest first."""
        ...

    async def episodes(self, run_id: str) -> Sequence[EpisodeRecord]:
        """A run's episodes, oldest first."""
        ...

    async def records(self, episode_id: str) -> Sequence[Record]:
        """All of an episode's records but artifacts, in the order they were written."""
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

    async def recall(self, task_id: str, family: str, *, window: int = 3) -> Sequence[Lesson]:
        """The last `window` reflections of the task, newest first; then, where fewer, of its family."""
        ...

    async def edit_statistics(self, family: str, signature: str) -> EditStatistics:
        """Which edits paid: per edit name, candidates judged and candidates of these that passed.

        Args:
            family: the task's family; empty: that circle stays empty.
            signature: how its baseline fails; empty: likewise.
        """
        ...

    async def aclose(self) -> None:
        """Closes connections."""
        ...
