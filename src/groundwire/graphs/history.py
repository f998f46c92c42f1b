"""What an episode knows so far: a view of its ledger records, rebuilt from them after a crash."""

from __future__ import annotations

from collections.abc import Iterable

from groundwire.contexts import Coverage, Judged
from groundwire.errors import RecordNotFound
from groundwire.records import (
    Admission,
    CandidateRecord,
    EpisodeEnd,
    ModelCall,
    Record,
    ReflectionRecord,
    TrialRecord,
)
from groundwire.signals import Signal, Verdict
from groundwire.trees import Candidate

__all__ = ["History"]


class History:
    """An index over one episode's records.

    Args:
        base: the empty candidate: the task's tree as it stands.
    """

    def __init__(self, base: Candidate) -> None:
        self.base = base
        self.candidates: dict[str, Candidate] = {base.digest: base}
        self.proposed: dict[int, list[str]] = {0: [base.digest]}
        self.signals: dict[str, Signal] = {}
        self.judged_in: dict[int, list[str]] = {}
        self.admissions: dict[str, Admission] = {}
        self.opened: set[str] = set()
        self.reflections: dict[str, ReflectionRecord] = {}
        self.lessons: dict[int, tuple[str, ...]] = {}
        self.answers: dict[tuple[int, str], list[ModelCall]] = {}
        self.best: Judged | None = None
        self.coverage: Coverage | None = None
        self.end: EpisodeEnd | None = None

    def keep(self, candidates: Iterable[Candidate]) -> None:
        """Adds candidates' bodies."""
        for candidate in candidates:
            self.candidates.setdefault(candidate.digest, candidate)

    def add(self, record: Record) -> None:
        """Adds one record; a candidate's body must have been kept before."""
        match record:
            case CandidateRecord():
                proposed = self.proposed.setdefault(record.trial, [])
                if record.digest not in proposed:
                    proposed.append(record.digest)
            case Signal():
                self.signals[record.id] = record
                self.judged_in.setdefault(record.trial, []).append(record.id)
            case Admission():
                self.admissions[record.id] = record
                if record.admitted:
                    self.opened.add(record.signal_id)
            case ReflectionRecord():
                self.reflections[record.id] = record
            case TrialRecord():
                self.lessons[record.trial] = record.lessons
            case EpisodeEnd():
                self.end = record
            case _:
                pass

    def signal(self, signal_id: str) -> Signal:
        """One signal of this episode.

        Raises:
            RecordNotFound: there is none.
        """
        try:
            return self.signals[signal_id]
        except KeyError:
            raise RecordNotFound(f"Episode has no signal {signal_id!r}.") from None

    def judged(self, signal: Signal) -> Judged:
        """A signal with the candidate it is about."""
        return Judged(self.candidates[signal.candidate_digest], signal)

    def judged_of(self, trial: int, issuer: str = "") -> tuple[Judged, ...]:
        """All that a trial judged, in order; with `issuer`, by that tool node only."""
        signals = (self.signals[i] for i in self.judged_in.get(trial, ()))
        return tuple(self.judged(s) for s in signals if not issuer or s.issuer == issuer)

    def reflection_on(self, signal_id: str) -> ReflectionRecord | None:
        """The reflection that a signal caused, if there is one."""
        return next((r for r in self.reflections.values() if r.signal_id == signal_id), None)

    def admission_of(self, signal_id: str) -> Admission | None:
        """The admission that a signal opened, if it did."""
        return next((a for a in self.admissions.values() if a.signal_id == signal_id and a.admitted), None)

    @property
    def base_was_judged(self) -> bool:
        """True if a tool gave a verdict on the tree as it stands."""
        return any(j.candidate.is_base and j.signal.verdict is not Verdict.NONE for j in self.judged_of(0))

    @property
    def tried(self) -> frozenset[str]:
        """Digests of every candidate proposed so far."""
        return frozenset(self.candidates)
